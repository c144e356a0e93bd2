import type { CellKeys } from '../../../src/core/cell/keys.ts';
import type { Attempt, Entry } from '../../../src/ports/cell-store.ts';
import type { RecordedHistory } from '../../history/history.ts';
import type { Findings } from '../replay/violations.ts';

/** I11: so often a claim is refused, races for a pool apart, before it is planned anew: the first try, and eight more. */
const REFUSALS_MAX = 1 + 8;
/**
 * With races for a pool, which are counted apart, since they are lost by chance and not for want of capacity: 64 may be
 * lost, and the claim is planned anew at the next one, or at its last other refusal. `docs/decisions/shared-resources.md`
 */
const REFUSALS_AND_RACES_MAX = REFUSALS_MAX + 64;

interface Count {
  refusals: number;
  races: number;
}

/** I11: a claim is refused a bounded number of times, then planned anew. */
export function checkRetries(history: RecordedHistory, keys: CellKeys, findings: Findings): void {
  const counts = new Map<string, Count>();
  for (const { seq, atMs, attempt, found } of refusedAttempts(history)) {
    const isRace = isPoolRace(attempt, found, keys);
    for (const key of placesIn(attempt, keys)) {
      const count = counts.get(key) ?? { refusals: 0, races: 0 };
      counts.set(key, count);
      count[isRace ? 'races' : 'refusals'] += 1;
      const { refusals, races } = count;
      // Each of the two is reported once.
      const isOver =
        (!isRace && refusals === REFUSALS_MAX + 1) || refusals + races === REFUSALS_AND_RACES_MAX + 1;
      if (!isOver) continue;
      const detail = `its commit was refused ${String(refusals)} times, and lost ${String(races)} races for a pool`;
      findings.prove('I11', key, detail, [{ seq, atMs }]);
    }
  }
}

function* placesIn({ compares, writes }: Attempt, keys: CellKeys): Iterable<string> {
  for (const { kind, key } of writes) {
    if (kind !== 'put' || !key.startsWith(keys.allocations)) continue;
    // A mark on what is there already compares the record itself; what is being placed has none.
    if (!compares.some((compare) => compare.key === key)) yield key;
  }
}

/** No ledger had changed, but a pool had, or the operator's record of its resource. */
function isPoolRace({ compares }: Attempt, found: ReadonlyMap<string, Entry>, keys: CellKeys): boolean {
  const moved = compares.filter(({ key, target, equals }) => (found.get(key)?.[target] ?? 0) !== equals);
  const hasMoved = (prefix: string): boolean => moved.some(({ key }) => key.startsWith(prefix));
  return !hasMoved(keys.ledgers) && (hasMoved(keys.pools) || hasMoved(keys.shared));
}

function* refusedAttempts(history: RecordedHistory) {
  for (const call of history.storeCalls)
    if (call.kind === 'attempt' && call.reply.outcome === 'refused')
      yield { seq: call.to, atMs: call.atMs, attempt: call.attempt, found: call.reply.found };
}
