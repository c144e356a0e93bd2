import type { Allocation } from '../../../src/core/cell/allocation.ts';
import { jobKeyOf } from '../../../src/core/cell/ids.ts';
import type { CellAt } from '../replay/replay.ts';
import type { Findings } from '../replay/violations.ts';
import { feasibleHost } from './feasible.ts';
import type { LivenessInput } from './liveness.ts';
import { outstandingGrantsIn } from './outstanding-grants.ts';

/**
 * I62 after a quiet period: a host whose deadline is over, by any clock that may be asked, is empty of what another host has room
 * for.
 */
export function checkDrained({ run, cell, alive, ahead, times }: LivenessInput, findings: Findings): void {
  const quiet = run.faultlessFrom;
  if (quiet === null) return;
  const able = new Set([...alive].filter((host) => !ahead.has(host)));
  for (const allocation of cell.allocations.values()) {
    const { host, namespace } = allocation;
    const verdict = run.eligibility.get(host)?.at(-1);
    if (verdict?.fact?.state !== 'draining' || verdict.fact.drainDeadlineMs === undefined) continue;
    if (allocation.desired !== 'run' || !alive.has(host)) continue;
    // The deadline by the clock of who set it; it is some seconds at most after the verdict.
    const drainMs = Math.max(0, verdict.fact.drainDeadlineMs - verdict.fact.sinceMs);
    const dueMs = Math.max(verdict.atMs + drainMs, quiet.atMs + times.knownMs) + times.stopMs;
    if (dueMs > run.end.atMs) continue;
    const room = roomOf(allocation, cell, able, outstandingGrantsIn(namespace, cell, run, dueMs));
    if (room === null) continue;
    const text = `is to run on on ${host}, which is draining, and ${room} has room for it`;
    findings.prove('I62', allocation.id, text, [verdict, run.end]);
  }
}

function roomOf(
  { namespace, job, group: name }: Allocation,
  cell: CellAt,
  able: ReadonlySet<string>,
  promised: Parameters<typeof feasibleHost>[4],
): string | null {
  const record = cell.jobs.get(jobKeyOf(namespace, job));
  const group = record?.job.groups[name];
  if (record?.desired !== 'run' || group === undefined || record.job.type === 'system') return null;
  return feasibleHost(cell, record, group, able, promised);
}
