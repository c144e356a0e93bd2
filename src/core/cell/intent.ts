import type { Claim } from './claim.ts';

/**
 * A gang that is larger than one transaction. Its members are committed one transaction after the other, and name the
 * intent. While the intent is in the store they are *reserved*: their resources are taken and they are not started.
 * Deleting an open intent makes all of them effective in that one revision (I6). A gang that cannot be completed has its
 * intent made void, for good; then its members are released, and then the intent is deleted.
 *
 *     open ──► deleted: the members are ordinary allocations
 *       └────► void ──► members released ──► deleted
 *
 * Every transaction that adds a member compares the open intent, so none lands after it was deleted or made void.
 * `docs/decisions/gangs.md`
 */
export interface Intent {
  readonly id: string;
  readonly namespace: string;
  readonly job: string;
  readonly jobVersion: number;
  readonly group: string;
  readonly scheduler: string;
  readonly planId: string;
  /** How many members the gang has when complete. */
  readonly members: number;
  readonly state: IntentState;
  readonly createdAtMs: number;
  /** A process that has seen it open for longer than this may make it void. */
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
 * The pending preemption of a victim whose place members of such a gang take. The victim is marked `evict` in the
 * transaction that reserves the members, and runs on while the intent is in the store. When the intent takes effect the
 * victim is evicted like any other. When it becomes void, the transaction that releases the members reverts the mark.
 *
 * Until then no other claim may take what the victim needs to be restored: whatever the members on its host do not take
 * of its use stays in the ledger under its own precedence.
 */
export interface PendingPreemption {
  readonly intent: IntentRef;
  readonly keeps: Retained;
}

/** What stays in the ledger. GPU shares name their device, which is the one that the victim uses. */
export type Retained = Pick<Claim, 'resources' | 'gpus'>;

/** The intent that the allocation was committed with; undefined: none. It may have taken effect long ago. */
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
