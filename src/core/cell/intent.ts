import type { Allocation } from './allocation.ts';

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

/** The intent that the allocation came with; undefined: none. It may be long since effective. */
export function intentOf({ namespace, job, intent }: Allocation): IntentRef | undefined {
  return intent === undefined ? undefined : { namespace, job, id: intent };
}
