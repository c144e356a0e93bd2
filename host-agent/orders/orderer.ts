import type { Caller } from '../../src/core/access/access.ts';
import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import type { CellStore, Entry } from '../../src/ports/cell-store.ts';
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

/** The host's own record of what is to end. */
export interface OrderedHere {
  readonly allocation: Allocation;
  readonly acceptedAtMs: number;
}

export type AskStore = (allocation: Allocation) => Promise<StoredWord>;

/** Orders that come while the store is asked wait for the next question, which is about so many of them. */
const ASKED_AT_ONCE_MAX = 32;

interface Waiting {
  readonly ownerKey: string;
  readonly recordKey: string;
  readonly resolve: (word: StoredWord) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * @returns a question to the store for each order whose right is not clear from the host's own record; one at a time, for
 *   all orders that have come meanwhile
 */
export function askStore(store: CellStore, keys: CellKeys): AskStore {
  const waiting: Waiting[] = [];
  let isAsking = false;
  const askAll = async (): Promise<void> => {
    isAsking = true;
    try {
      while (waiting.length > 0) await answer(store, waiting.splice(0, ASKED_AT_ONCE_MAX));
    } finally {
      isAsking = false;
    }
  };
  return ({ namespace, job, id }) =>
    new Promise((resolve, reject) => {
      const [ownerKey, recordKey] = [keys.owner(namespace, job), keys.allocation(namespace, job, id)];
      waiting.push({ ownerKey, recordKey, resolve, reject });
      if (!isAsking) void askAll();
    });
}

/** Never rejects: who asked gets the error. */
async function answer(store: CellStore, asked: readonly Waiting[]): Promise<void> {
  const wanted = asked.flatMap(({ ownerKey, recordKey }) => [ownerKey, recordKey]);
  const read = await store.read([...new Set(wanted)]).then(
    ({ entries }) => entries,
    (error: unknown) => ({ error }),
  );
  for (const { ownerKey, recordKey, resolve, reject } of asked)
    try {
      if ('error' in read) throw read.error;
      resolve(wordOf(read.get(ownerKey), read.get(recordKey)));
    } catch (error) {
      reject(error);
    }
}

function wordOf(owner: Entry | undefined, record: Entry | undefined): StoredWord {
  return {
    owner: owner === undefined ? null : ownerCodec.decode(owner.value).scheduler,
    isToRun: record !== undefined && allocationCodec.decode(record.value).desired === 'run',
  };
}

/**
 * So long after a start the one who ordered it may end it without a word of the store. It owned the job when it asked for the
 * ticket, and the job of a scheduler that is gone is taken over when its session has ended, which takes 10 s. Most tasks are over
 * by then, so that their ends cost the store nothing.
 */
const OWN_START_MS = 60_000;

export interface EndChecks {
  /** Absent: the callers are trusted. */
  readonly ask: AskStore | undefined;
  /** Default `OWN_START_MS`. */
  readonly ownStartMs?: number | undefined;
}

/**
 * Whether the caller may end the allocation, or have it forgotten. A scheduler may: what it owns now, which what it ordered
 * itself a moment ago is taken for; and what the store says is to stop, as the victim of a preemption is, whose owner is
 * another. A former owner may not: its job was taken over, and what it ordered is its successor's. A monitor may: what the store
 * says is to stop, and what has no owner.
 *
 * @param ordered undefined: this host has no record of it, and only notes that it must not start
 * @param nowMs by the clock of `acceptedAtMs`
 * @throws ProblemError; 503 while the store is needed and does not answer
 */
export async function checkEnds(
  peer: Caller | null,
  ordered: OrderedHere | undefined,
  nowMs: number,
  { ask, ownStartMs = OWN_START_MS }: EndChecks,
): Promise<void> {
  if (peer === null || peer.role === 'operator' || ordered === undefined || ask === undefined) return;
  const { allocation, acceptedAtMs } = ordered;
  const isFresh = nowMs - acceptedAtMs <= ownStartMs;
  if (peer.role === 'scheduler' && allocation.scheduler === peer.id && isFresh) return;
  const { owner, isToRun } = await storeAnswers(ask(allocation), 'who owns this allocation');
  if (!isToRun || (peer.role === 'monitor' ? owner === null : owner === peer.id)) return;
  throw notYours('this allocation belongs to another');
}

/** A start is ordered in the caller's own name. @throws ProblemError */
export function checkStarts(peer: Caller | null, { scheduler }: Allocation): void {
  if (peer !== null && peer.id !== scheduler) throw notYours('a start in the name of another scheduler');
}

/** @param what the store must say, for people @throws ProblemError 503 while it does not answer */
export async function storeAnswers<T>(answer: Promise<T>, what: string): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const detail = `the store does not answer, and it must say ${what}`;
    throw new ProblemError({ status: 503, code: 'store-away', detail, hint: 'ask again' }, error);
  }
}

function notYours(detail: string): ProblemError {
  return new ProblemError({ status: 403, code: 'not-yours', detail });
}
