import type { Allocation } from '../../../src/core/cell/allocation.ts';
import { jobKeyOf } from '../../../src/core/cell/ids.ts';
import { MIN_HEALTHY_MS } from '../../../src/core/slots/rollout.ts';
import type { CellAt } from '../replay/replay.ts';
import type { RunIndex } from '../replay/run-index.ts';
import type { Findings } from '../replay/violations.ts';
import { feasibleHost } from './feasible.ts';
import type { LivenessInput } from './liveness.ts';
import { outstandingGrantsIn } from './outstanding-grants.ts';

/**
 * I62 after a quiet period: a host whose drain deadline is over, by any clock, runs nothing that another host has capacity for. A drain
 * without a deadline takes services as their update policy allows: of a service whose instances are all up it has moved one by then.
 */
export function checkDrained({ run, cell, alive, ahead, times }: LivenessInput, findings: Findings): void {
  const quiet = run.faultlessFrom;
  if (quiet === null) return;
  const able = new Set([...alive].filter((host) => !ahead.has(host)));
  for (const allocation of cell.allocations.values()) {
    const { host, namespace } = allocation;
    const drain = run.eligibility.get(host)?.at(-1);
    if (drain?.fact?.state !== 'draining' || allocation.desired !== 'run' || !alive.has(host)) continue;
    const { drainDeadlineMs, sinceMs } = drain.fact;
    // The deadline is by the clock of the monitor that set it, some seconds after the drain began.
    const fromMs =
      drainDeadlineMs === undefined
        ? movableFromMs(allocation, cell, run)
        : drain.atMs + Math.max(0, drainDeadlineMs - sinceMs);
    const dueMs = Math.max(drain.atMs, fromMs, quiet.atMs + times.knownMs) + times.stopMs;
    if (dueMs > run.end.atMs) continue;
    const other = otherHostFor(allocation, cell, able, outstandingGrantsIn(namespace, cell, run, dueMs));
    if (other === null) continue;
    const text = `still has desired state run on ${host}, which is draining, and ${other} has capacity for it`;
    findings.prove('I62', allocation.id, text, [drain, run.end]);
  }
}

/**
 * From when on nothing holds a service on a host that is drained without a deadline.
 *
 * @returns when the last of its group's instances had run for `minHealthy`; Infinity: it is not sure that it may be moved at all
 */
function movableFromMs({ namespace, job, group: name }: Allocation, cell: CellAt, run: RunIndex): number {
  const record = cell.jobs.get(jobKeyOf(namespace, job));
  const group = record?.job.groups[name];
  if (record?.job.type !== 'service' || group === undefined) return Infinity;
  if (group.reschedule.onDrain === false || Object.keys(record.job.groups).length > 1) return Infinity;
  const slots = new Set<number>();
  let lastStartMs = 0;
  for (const one of cell.allocations.values()) {
    if (one.namespace !== namespace || one.job !== job) continue;
    const process = run.processesOf.get(one.id)?.at(-1);
    // While one ends, waits or belongs to another version, an update or a move is under way.
    if (one.desired !== 'run' || one.jobVersion !== record.version) return Infinity;
    if (process === undefined || process.ended !== null) return Infinity;
    slots.add(one.index);
    lastStartMs = Math.max(lastStartMs, process.started.atMs);
  }
  if (slots.size < group.count) return Infinity;
  return lastStartMs + (group.minHealthyMs ?? MIN_HEALTHY_MS);
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
