import type { Allocation } from '../core/allocation.ts';
import type { Found } from '../core/commit.ts';
import type { CellKeys } from '../core/keys.ts';
import type { TransactionDraft } from '../core/transaction-draft.ts';
import type { Attempt, Compare, Entry, Write } from '../ports/cell-store.ts';
import { allocationCodec, ledgerCodec, outcomeCodec } from '../wire/records.ts';
import type { Doubt, Settled } from './read-back.ts';

/** A draft in the store's words. */
export function attemptOf(draft: TransactionDraft, keys: CellKeys): Attempt {
  const compares: Compare[] = [];
  const writes: Write[] = [];
  const readBack: string[] = [];
  const compare = (key: string, target: Compare['target'], equals: number): void => {
    compares.push({ key, target, equals });
    readBack.push(key);
  };
  for (const { host, before, after } of draft.ledgers) {
    const key = keys.ledger(host);
    compare(key, 'modRevision', before.revision);
    writes.push({ kind: 'put', key, value: ledgerCodec.encode(after) });
  }
  for (const { namespace, job, createRevision } of draft.owners)
    compare(keys.owner(namespace, job), 'createRevision', createRevision);
  for (const { allocation, modRevision } of draft.compared)
    compare(keyOf(allocation, keys), 'modRevision', modRevision);
  for (const allocation of draft.puts)
    writes.push({ kind: 'put', key: keyOf(allocation, keys), value: allocationCodec.encode(allocation) });
  for (const allocation of draft.deletes) writes.push({ kind: 'delete', key: keyOf(allocation, keys) });
  for (const outcome of draft.outcomes) {
    const key = keys.outcome(outcome.namespace, outcome.job, outcome.allocation);
    writes.push({ kind: 'put', key, value: outcomeCodec.encode(outcome) });
  }
  return { compares, writes, readBack };
}

/** What a refused attempt read back, in the words of the plan. */
export function foundIn(found: ReadonlyMap<string, Entry>, keys: CellKeys): Found {
  return {
    ledgerRevision: (host) => found.get(keys.ledger(host))?.modRevision ?? 0,
    ownerRevision: (namespace, job) => found.get(keys.owner(namespace, job))?.createRevision ?? 0,
    allocationRevision: (allocation) => found.get(keyOf(allocation, keys))?.modRevision ?? 0,
  };
}

/**
 * The doubt about a draft whose reply never came: fenced by the first ledger that it compares, and told by the allocations
 * that it writes or deletes.
 */
export function doubtOf(draft: TransactionDraft, keys: CellKeys): Doubt {
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

/**
 * Was the draft applied?
 *
 * A new allocation's id belongs to one plan alone, so one of them is proof, and so is a victim that reads as we would have
 * written it. A draft that only releases leaves nothing of its own; but when all of its allocations are gone then what it
 * wanted is so, whoever did it, and while one is there it was not applied, since a transaction lands whole.
 *
 * @returns the revision that applied it; `exact` false when only a bound from above is known. null: not applied
 */
export function appliedRevision(
  draft: TransactionDraft,
  settled: Settled,
  keys: CellKeys,
): { readonly revision: number; readonly exact: boolean } | null {
  if (settled.fenced) return null;
  const victims = new Set(draft.compared.map(({ allocation }) => allocation.id));
  for (const allocation of draft.puts) {
    const entry = settled.found.get(keyOf(allocation, keys));
    if (entry === undefined) continue;
    if (!victims.has(allocation.id)) return { revision: entry.createRevision, exact: true };
    if (entry.value === allocationCodec.encode(allocation))
      return { revision: entry.modRevision, exact: true };
  }
  if (draft.puts.length > 0) return null;
  const allGone = draft.deletes.every((allocation) => !settled.found.has(keyOf(allocation, keys)));
  return allGone ? { revision: settled.revision, exact: false } : null;
}

function keyOf(allocation: Allocation, keys: CellKeys): string {
  return keys.allocation(allocation.namespace, allocation.job, allocation.id);
}
