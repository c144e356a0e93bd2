import type { Claim } from './claim.ts';

/**
 * A gang larger than one transaction holds, on its way: its members are committed one transaction after the other, and
 * all of them name the intent. While the intent lies in the store they are *reserved*: their room is taken and nobody
 * starts them. Deleting an open intent makes all of them effective, in that one revision (I6). One that shall not come
 * about becomes void first, for good; then its members are released, and only then it is deleted.
 *
 *     open ──► deleted: the members are allocations like any others
 *       └────► void ──► members released ──► deleted
 *
 * Every transaction that adds a member compares the open intent, so none lands after it was made effective or void.
 */
export interface Intent {
  readonly id: string;
  readonly namespace: string;
  readonly job: string;
  readonly jobVersion: number;
  readonly group: string;
  readonly scheduler: string;
  readonly planId: string;
  /** How many members it shall have. */
  readonly members: number;
  readonly state: IntentState;
  readonly createdAtMs: number;
  /** Whoever has seen it for longer than this may make it void. */
  readonly ttlMs: number;
}

export const INTENT_STATES = ['open', 'void'] as const;
export type IntentState = (typeof INTENT_STATES)[number];

/** What the commit of a member compares. */
export interface IntentRef {
  readonly namespace: string;
  readonly job: string;
  readonly id: string;
}

/**
 * How an allocation gives way to a gang by intent, which may still come to nothing (decision 82). It is marked `evict` in
 * the transaction that reserves its place, and *yields*: while the intent is there, it runs on. Is the intent made
 * effective, it is evicted like any other; is it void, the mark is taken back in the transaction that releases the members.
 *
 * Between the two nobody else may take what it would need to come back. So of what it holds it keeps in the ledger whatever
 * the members on its host do not take, until it is released.
 */
export interface PendingPreemption {
  readonly intent: IntentRef;
  readonly keeps: Retained;
}

/** Devices are told apart: what is kept of one cannot be kept of another. */
export type Retained = Pick<Claim, 'resources' | 'gpus'>;

/** The intent that the allocation came with; undefined: none. It may be long since effective. */
export function intentOf({
  namespace,
  job,
  intent,
}: {
  readonly namespace: string;
  readonly job: string;
  readonly intent?: string;
}): IntentRef | undefined {
  return intent === undefined ? undefined : { namespace, job, id: intent };
}
