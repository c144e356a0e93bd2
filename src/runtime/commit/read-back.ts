import type {
  Attempt,
  AttemptReply,
  CellStore,
  Compare,
  Entry,
  Session,
  Write,
} from '../../ports/cell-store.ts';
import { StoreError } from '../../ports/cell-store.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import { Backoff } from '../wait/backoff.ts';
import { sleep } from '../wait/wait.ts';

/** Soon at first, since most unknown outcomes are one lost reply; at most every 2 s while the store is away. */
const WAIT = { firstMs: 20, maxMs: 2_000 };

/** A write whose reply never came. */
export interface UnknownWrite {
  /**
   * One of the attempt's own compares on a mod revision, and a put of that key which changes nothing but the revision.
   */
  readonly fence: { readonly compare: Compare; readonly write: Write };
  /** Keys that tell whether the attempt was applied. */
  readonly evidence: readonly string[];
}

export type ReadBackResult =
  /** The attempt was not applied, and can never be any more. */
  | { readonly fenced: true; readonly revision: number }
  /** The fence key had moved; `found` holds the evidence, read in one revision. The attempt can not land after it. */
  | { readonly fenced: false; readonly revision: number; readonly found: ReadonlyMap<string, Entry> };

export interface RetryPorts {
  readonly store: CellStore;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Finds out whether a write with an unknown outcome was applied.
 *
 * Reading alone is no answer: the request may still be on its way, and land after it was seen to be absent. So the
 * read-back is itself a transaction, which compares the same mod revision as the attempt did:
 *
 * - The compare holds: the attempt has not been applied. The fence now moves the revision, and revisions never return, so
 *   the attempt's own compare must fail whenever it arrives. Not applied, for good.
 * - The compare fails: the key has moved, by the attempt or by somebody else, so again the attempt cannot land any more.
 *   The evidence is read in the same transaction: what only this attempt could have written is there or it is not.
 * - The fence's own outcome is unknown: ask again. If it was applied after all, the next round takes the second way and
 *   finds no evidence.
 *
 * Asks until the store answers, or the session is lost: the question is a write too, and a store that is restored meanwhile
 * may hold what it compares.
 * @param session under which the attempt was made; without one it is asked for ever
 * @returns null: the session is lost, and only the store knows
 * @throws StoreError that is not retryable
 */
export async function readBack(
  { store, clock, random }: RetryPorts,
  doubt: UnknownWrite,
  session?: AbortSignal,
): Promise<ReadBackResult | null> {
  const attempt: Attempt = {
    compares: [doubt.fence.compare],
    writes: [doubt.fence.write],
    readBack: doubt.evidence,
  };
  const backoff = new Backoff(WAIT, random);
  while (session?.aborted !== true) {
    const reply = await attemptOrNull(store, attempt);
    if (reply?.outcome === 'applied') return { fenced: true, revision: reply.revision };
    if (reply?.outcome === 'refused') return { fenced: false, revision: reply.revision, found: reply.found };
    await sleep(clock, backoff.nextMs(), session);
  }
  return null;
}

export interface Creation {
  readonly key: string;
  /** Must hold something that only this creation could have written, such as an id or an incarnation. */
  readonly value: string;
  readonly session?: Session;
  /** What must hold besides the key's absence. */
  readonly compares?: readonly Compare[];
}

export type Created =
  | { readonly created: true; readonly revision: number }
  /** Somebody else's record is there, or another compare failed (`found` null). */
  | { readonly created: false; readonly found: Entry | null };

/**
 * Writes a key that nobody has written yet. After an unknown outcome it simply tries again: the second try can only find
 * the key absent, and then the first has not been applied, or find our own value, which is the answer. (Were the first to
 * land after that, its compare on the absence would fail.)
 *
 * @throws StoreError that is not retryable
 */
export async function createOnce({ store, clock, random }: RetryPorts, creation: Creation): Promise<Created> {
  const { key, value, session } = creation;
  const attempt: Attempt = {
    compares: [{ key, target: 'createRevision', equals: 0 }, ...(creation.compares ?? [])],
    writes: [session === undefined ? { kind: 'put', key, value } : { kind: 'put', key, value, session }],
    readBack: [key],
  };
  const backoff = new Backoff(WAIT, random);
  for (;;) {
    const reply = await attemptOrNull(store, attempt);
    if (reply?.outcome === 'applied') return { created: true, revision: reply.revision };
    if (reply?.outcome === 'refused') {
      const found = reply.found.get(key) ?? null;
      if (found?.value === value) return { created: true, revision: found.createRevision };
      return { created: false, found };
    }
    await sleep(clock, backoff.nextMs());
  }
}

/** @returns null: no answer this time */
async function attemptOrNull(store: CellStore, attempt: Attempt): Promise<AttemptReply | null> {
  try {
    const reply = await store.attempt(attempt);
    return reply.outcome === 'unknown' ? null : reply;
  } catch (error) {
    if (error instanceof StoreError && error.retryable) return null;
    throw error;
  }
}
