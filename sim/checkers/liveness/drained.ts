import type { Allocation } from '../../../src/core/cell/allocation.ts';
import { jobKeyOf } from '../../../src/core/cell/ids.ts';
import type { CellAt } from '../replay/replay.ts';
import type { Findings } from '../replay/violations.ts';
import { feasibleHost } from './feasible.ts';
import type { LivenessInput } from './liveness.ts';
import { outstandingGrantsIn } from './outstanding-grants.ts';

/** I62 after a quiet period: a host whose drain deadline is over, by any clock, runs nothing that another host has capacity for. */
export function checkDrained({ run, cell, alive, ahead, times }: LivenessInput, findings: Findings): void {
  const quiet = run.faultlessFrom;
  if (quiet === null) return;
  const able = new Set([...alive].filter((host) => !ahead.has(host)));
  for (const allocation of cell.allocations.values()) {
    const { host, namespace } = allocation;
    const drain = run.eligibility.get(host)?.at(-1);
    if (drain?.fact?.state !== 'draining' || drain.fact.drainDeadlineMs === undefined) continue;
    if (allocation.desired !== 'run' || !alive.has(host)) continue;
    // By the clock of the monitor that set it; the deadline is some seconds after the drain began.
    const drainMs = Math.max(0, drain.fact.drainDeadlineMs - drain.fact.sinceMs);
    const dueMs = Math.max(drain.atMs + drainMs, quiet.atMs + times.knownMs) + times.stopMs;
    if (dueMs > run.end.atMs) continue;
    const other = otherHostFor(allocation, cell, able, outstandingGrantsIn(namespace, cell, run, dueMs));
    if (other === null) continue;
    const text = `still has desired state run on ${host}, which is draining, and ${other} has capacity for it`;
    findings.prove('I62', allocation.id, text, [drain, run.end]);
  }
}

function otherHostFor(
  { namespace, job, group: name }: Allocation,
  cell: CellAt,
  able: ReadonlySet<string>,
  outstanding: Parameters<typeof feasibleHost>[4],
): string | null {
  const record = cell.jobs.get(jobKeyOf(namespace, job));
  const group = record?.job.groups[name];
  if (record?.desired !== 'run' || group === undefined || record.job.type === 'system') return null;
  return feasibleHost(cell, record, group, able, outstanding);
}
