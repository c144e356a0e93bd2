import type { CellKeys } from '../../src/core/keys.ts';
import type { RecordedHistory } from '../history/history.ts';
import type { Findings } from './violations.ts';

/** I11: refusals of one decision before it is planned anew; the first try is none of them. */
const RETRIES_MAX = 8;

/** I11: no placement is tried over and over: its claim is refused a bounded number of times, then planned anew. */
export function checkRetries(history: RecordedHistory, keys: CellKeys, findings: Findings): void {
  const refusals = new Map<string, number>();
  for (const { fact, seq, atMs } of refusedAttempts(history)) {
    for (const write of fact.writes) {
      if (write.kind !== 'put' || !write.key.startsWith(keys.allocations)) continue;
      // A mark on what is there already compares the record itself; what is being placed has none.
      if (fact.compares.some(({ key }) => key === write.key)) continue;
      const count = (refusals.get(write.key) ?? 0) + 1;
      refusals.set(write.key, count);
      if (count === RETRIES_MAX + 2)
        findings.prove('I11', write.key, `its commit was refused ${String(count)} times`, [{ seq, atMs }]);
    }
  }
}

function* refusedAttempts(history: RecordedHistory) {
  for (const call of history.storeCalls)
    if (call.kind === 'attempt' && call.reply.outcome === 'refused')
      yield { seq: call.to, atMs: call.atMs, fact: call.attempt };
}
