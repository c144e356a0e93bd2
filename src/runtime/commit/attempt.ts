import type { Allocation } from '../../core/cell/allocation.ts';
import type { FoundRevisions } from '../../core/commit/conflicts.ts';
import type { CellKeys } from '../../core/cell/keys.ts';
import type { Ledger } from '../../core/fit/ledger.ts';
import type { TransactionDraft } from '../../core/commit/transaction-draft.ts';
import type { Attempt, CellStore, Compare, Entry, Session, Write } from '../../ports/cell-store.ts';
import {
  allocationCodec,
  ledgerCodec,
  outcomeCodec,
  ownerCodec,
  poolCodec,
} from '../../wire/records/records.ts';
import type { UnknownWrite, ReadBackResult } from './read-back.ts';

/**
 * The compares and writes of a draft.
 * @param onLedger called with each ledger's text
 * @param session of the jobs that it claims
 */
export function attemptOf(
  draft: TransactionDraft,
  keys: CellKeys,
  onLedger: (host: string, ledger: Ledger, text: string) => void,
  session?: Session,
): Attempt {
  const compares: Compare[] = [];
  const empty: string[] = [];
  const writes: Write[] = [];
  const readBack: string[] = [];
  const compare = (key: string, target: Compare['target'], equals: number): void => {
    compares.push({ key, target, equals });
    readBack.push(key);
  };
  for (const { host, before, after } of draft.ledgers) {
    const key = keys.ledger(host);
    const value = ledgerCodec.encode(after);
    onLedger(host, after, value);
    compare(key, 'modRevision', before.revision);
    writes.push({ kind: 'put', key, value });
  }
  for (const { pool, before, after, volume } of draft.pools) {
    const key = keys.pool(pool);
    compare(key, 'modRevision', before.revision);
    writes.push({ kind: 'put', key, value: poolCodec.encode({ used: after, ...(volume && { volume }) }) });
  }
  for (const { name, modRevision } of draft.resources)
    compare(keys.sharedResource(name), 'modRevision', modRevision);
  for (const { namespace, job, createRevision, claimedBy } of draft.owners) {
    const key = keys.owner(namespace, job);
    compare(key, 'createRevision', createRevision);
    if (claimedBy === undefined) continue;
    if (session === undefined) throw new Error('a job is claimed without a session');
    empty.push(keys.allocationsOf(namespace, job), keys.outcomesOf(namespace, job));
    writes.push({ kind: 'put', key, value: ownerCodec.encode(claimedBy), session });
  }
  for (const { intent, modRevision } of draft.intents)
    compare(keys.intent(intent.namespace, intent.job, intent.id), 'modRevision', modRevision);
  for (const { host, revision } of draft.lostHosts)
    compare(keys.eligibilityOf(host), 'modRevision', revision);
  for (const namespace of draft.unlimited) compare(keys.quota(namespace), 'createRevision', 0);
  for (const { allocation, modRevision } of draft.compared)
    compare(keyOf(allocation, keys), 'modRevision', modRevision);
  for (const allocation of draft.puts)
    writes.push({ kind: 'put', key: keyOf(allocation, keys), value: allocationCodec.encode(allocation) });
  for (const allocation of draft.deletes) writes.push({ kind: 'delete', key: keyOf(allocation, keys) });
  for (const outcome of draft.outcomes) {
    const key = keys.outcome(outcome.namespace, outcome.job, outcome.allocation);
    writes.push({ kind: 'put', key, value: outcomeCodec.encode(outcome) });
  }
  return { compares, empty, writes, readBack };
}

/** What a refused attempt read back, by the names that a plan uses. */
export function foundIn(found: ReadonlyMap<string, Entry>, keys: CellKeys): FoundRevisions {
  return {
    ledgerRevision: (host) => found.get(keys.ledger(host))?.modRevision ?? 0,
    ownerRevision: (namespace, job) => found.get(keys.owner(namespace, job))?.createRevision ?? 0,
    allocationRevision: (allocation) => found.get(keyOf(allocation, keys))?.modRevision ?? 0,
    intentRevision: ({ namespace, job, id }) => found.get(keys.intent(namespace, job, id))?.modRevision ?? 0,
    eligibilityRevision: (host) => found.get(keys.eligibilityOf(host))?.modRevision ?? 0,
    poolRevision: (pool) => found.get(keys.pool(pool))?.modRevision ?? 0,
    hasQuota: (namespace) => found.has(keys.quota(namespace)),
    resourceRevision: (name) => found.get(keys.sharedResource(name))?.modRevision ?? 0,
  };
}

/**
 * How to find out about a draft whose reply never came: the first ledger that it compares is the fence, the allocations that
 * it writes or deletes are the evidence.
 */
export function unknownWriteOf(draft: TransactionDraft, keys: CellKeys): UnknownWrite {
  const [first] = draft.ledgers;
  if (first === undefined) throw new Error('a transaction without a ledger was sent');
  const key = keys.ledger(first.host);
  return {
    fence: {
      compare: { key, target: 'modRevision', equals: first.before.revision },
      write: { kind: 'put', key, value: ledgerCodec.encode(first.before.ledger) },
    },
    evidence: [...draft.puts, ...draft.deletes].map((allocation) => keyOf(allocation, keys)),
  };
}

export interface AppliedAt {
  readonly revision: number;
  /** false: the revision is an upper bound. */
  readonly exact: boolean;
}

/**
 * Was the draft applied, going by what the read-back found?
 *
 * A new allocation's id belongs to one plan alone, so one of them is proof. A draft without places leaves nothing of its
 * own: a victim or a released allocation reads the same whichever process wrote it. But when all of them are as the draft
 * wanted, its effect is there; and while one is not, it was not applied, since a transaction is atomic.
 *
 * @returns null: no sign of it. For a draft with places that is not yet the answer: see `wasCreated`.
 */
export function appliedAt(
  draft: TransactionDraft,
  settled: ReadBackResult,
  keys: CellKeys,
): AppliedAt | null {
  if (settled.fenced) return null;
  const places = placesOf(draft);
  for (const place of places) {
    const entry = settled.found.get(keyOf(place, keys));
    if (entry !== undefined) return { revision: entry.createRevision, exact: true };
  }
  if (places.length > 0) return null;
  const isDone =
    draft.deletes.every((allocation) => !settled.found.has(keyOf(allocation, keys))) &&
    draft.puts.every(
      (victim) => settled.found.get(keyOf(victim, keys))?.value === allocationCodec.encode(victim),
    );
  return isDone ? { revision: settled.revision, exact: false } : null;
}

/**
 * Was one of the draft's new allocations ever there, though it is not now? It may have been committed, and released by
 * another process before the read; to write it again would make a second allocation under the same id.
 *
 * @param sinceRevision a revision that was known before the draft was sent
 * @returns the revision that created it; null: none was
 */
export async function wasCreated(
  draft: TransactionDraft,
  store: CellStore,
  keys: CellKeys,
  sinceRevision: number,
): Promise<number | null> {
  const wanted = new Set(placesOf(draft).map((place) => keyOf(place, keys)));
  if (wanted.size === 0) return null;
  for await (const { revision, changes } of store.history(keys.allocations, sinceRevision + 1)) {
    if (changes.some((change) => change.kind === 'put' && wanted.has(change.entry.key))) return revision;
  }
  return null;
}

function placesOf(draft: TransactionDraft): Allocation[] {
  const victims = new Set(draft.compared.map(({ allocation }) => allocation.id));
  return draft.puts.filter(({ id }) => !victims.has(id));
}

function keyOf(allocation: Allocation, keys: CellKeys): string {
  return keys.allocation(allocation.namespace, allocation.job, allocation.id);
}
