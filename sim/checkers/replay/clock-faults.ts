import type { RecordedHistory } from '../../history/history.ts';

const CLOCK_FAULTS: ReadonlySet<string> = new Set(['clock-step', 'clock-rate']);

/** Whose clocks were turned in the run, be they hosts or roles. */
export function clockFaultsOf({ nemesis }: RecordedHistory): ReadonlySet<string> {
  const turned = new Set<string>();
  for (const { fact } of nemesis)
    if (CLOCK_FAULTS.has(fact.kind)) for (const target of fact.targets) turned.add(target);
  return turned;
}

/**
 * Hosts whose clock was turned, and whose last word to a start was that its ticket had run out. A host takes no time for
 * true that lies before what it has seen (I36), so it starts nothing until the true time has come up to that.
 */
export function hostsAheadOfTime(history: RecordedHistory): ReadonlySet<string> {
  const { orders } = history;
  const turned = clockFaultsOf(history);
  const ahead = new Set<string>();
  for (const { order, answer } of orders) {
    if (order.kind !== 'start' || answer === null || !turned.has(order.host)) continue;
    if (answer.fact.code === 'ticket-expired') ahead.add(order.host);
    else ahead.delete(order.host);
  }
  return ahead;
}
