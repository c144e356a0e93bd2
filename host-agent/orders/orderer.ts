import type { Caller } from '../../src/core/access/access.ts';
import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import type { CellStore } from '../../src/ports/cell-store.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import { allocationCodec } from '../../src/wire/records/allocation-codec.ts';
import { ownerCodec } from '../../src/wire/records/records.ts';

/** What the store says of an allocation now. */
export interface StoredWord {
  /** The scheduler that owns its job; null: none does. */
  readonly owner: string | null;
  /** false: its record is gone, or says that it is to stop. */
  readonly isToRun: boolean;
}

export type AskStore = (allocation: Allocation) => Promise<StoredWord>;

/** @returns a question to the store for each order whose right is not clear from the host's own record */
export function askStore(store: CellStore, keys: CellKeys): AskStore {
  return async ({ namespace, job, id }) => {
    const [ownerKey, recordKey] = [keys.owner(namespace, job), keys.allocation(namespace, job, id)];
    const { entries } = await store.read([ownerKey, recordKey]);
    const [owner, record] = [entries.get(ownerKey), entries.get(recordKey)];
    return {
      owner: owner === undefined ? null : ownerCodec.decode(owner.value).scheduler,
      isToRun: record !== undefined && allocationCodec.decode(record.value).desired === 'run',
    };
  };
}

/**
 * Whether the caller may end the allocation, or have it forgotten. A scheduler may: what it ordered itself; what it owns
 * now; and what the store says is to stop, as the victim of a preemption is, whose owner is another. A monitor may: what the
 * store says is to stop, and what has no owner.
 *
 * @param allocation undefined: this host has no record of it, and only notes that it must not start
 * @param ask absent: the callers are trusted
 * @throws ProblemError; 503 while the store is needed and does not answer
 */
export async function checkEnds(
  peer: Caller | null,
  allocation: Allocation | undefined,
  ask: AskStore | undefined,
): Promise<void> {
  if (peer === null || peer.role === 'operator' || allocation === undefined || ask === undefined) return;
  if (peer.role === 'scheduler' && allocation.scheduler === peer.id) return;
  const { owner, isToRun } = await answered(() => ask(allocation));
  if (!isToRun || (peer.role === 'monitor' ? owner === null : owner === peer.id)) return;
  throw notYours('this allocation belongs to another');
}

/** A start is ordered in the caller's own name. @throws ProblemError */
export function checkStarts(peer: Caller | null, { scheduler }: Allocation): void {
  if (peer !== null && peer.id !== scheduler) throw notYours('a start in the name of another scheduler');
}

async function answered(ask: () => Promise<StoredWord>): Promise<StoredWord> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const detail = 'the store does not answer, and it must say who owns this allocation';
    throw new ProblemError({ status: 503, code: 'store-away', detail, hint: 'ask again' }, error);
  }
}

function notYours(detail: string): ProblemError {
  return new ProblemError({ status: 403, code: 'not-yours', detail });
}
