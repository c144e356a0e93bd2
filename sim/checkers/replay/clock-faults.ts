import type { RecordedHistory } from '../../history/history.ts';

const CLOCK_FAULTS: ReadonlySet<string> = new Set(['clock-step', 'clock-rate']);

/** The hosts and roles whose clocks were set or ran at a wrong rate in the run. */
export function clockFaultsOf({ nemesis }: RecordedHistory): ReadonlySet<string> {
  const faulty = new Set<string>();
  for (const { fact } of nemesis)
    if (CLOCK_FAULTS.has(fact.kind)) for (const target of fact.targets) faulty.add(target);
  return faulty;
}

/**
 * Hosts with a clock fault that refused their last start because its ticket had expired. A host accepts no time before the latest that it
 * has seen (I36), so it starts nothing until the true time has caught up.
 */
export function hostsAheadOfTime(history: RecordedHistory): ReadonlySet<string> {
  const { orders } = history;
  const faulty = clockFaultsOf(history);
  const ahead = new Set<string>();
  for (const { order, answer } of orders) {
    if (order.kind !== 'start' || answer === null || !faulty.has(order.host)) continue;
    if (answer.fact.code === 'ticket-expired') ahead.add(order.host);
    else ahead.delete(order.host);
  }
  return ahead;
}
