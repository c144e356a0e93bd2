import type { RecordedHistory } from '../../history/history.ts';
import type { RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';

/** Faults that delay a start that was ordered before the stop. */
const HOLDS_STARTS: ReadonlySet<string> = new Set(['starts-slow', 'freeze-host']);

/**
 * I8: states only go forward. A host that has acknowledged a stop starts nothing of the allocation any more, whatever its
 * restart policy allows. Checked only where an agent came up between the two, since a start may be under way as the stop arrives.
 */
export function checkStartsAfterStop(history: RecordedHistory, run: RunIndex, findings: Findings): void {
  if (history.nemesis.some(({ fact }) => HOLDS_STARTS.has(fact.kind))) return;
  const agents = history.actors.filter(({ fact }) => fact.role === 'agent' && fact.change === 'started');
  for (const [id, orders] of run.ordersOf) {
    const stop = orders.find(({ order, answer }) => order.kind === 'stop' && answer?.fact.status === 200);
    if (stop?.answer == null) continue;
    const stopped = stop.answer;
    for (const { host, started } of run.processesOf.get(id) ?? []) {
      if (host !== stop.order.host || started.seq < stopped.seq) continue;
      const isUp = ({ seq, fact }: (typeof agents)[number]): boolean =>
        fact.actor === host && seq > stopped.seq && seq < started.seq;
      if (agents.some(isUp))
        findings.prove('I8', id, `was started on ${host} after its stop was acknowledged`, [
          stopped,
          started,
        ]);
    }
  }
}
