import { attemptName } from '../../src/wire/host-files/attempt-files.ts';
import type { AllocationUsage, HostUsage } from '../../src/wire/api/usage-api.ts';
import type { AllocationRun } from '../allocations/allocations.ts';
import type { AgentContext } from '../agent-context.ts';
import type { LimitsDriver } from '../limits/limits.ts';

/** What runs here and what it uses now (S3.8). */
export async function hostUsage(context: AgentContext): Promise<HostUsage> {
  const { ports, table } = context;
  const runs = table.all().filter((run) => !run.ended);
  return {
    host: context.host().id,
    atMs: ports.clock.monotonicMs(),
    allocations: await Promise.all(runs.map((run) => usageOf(ports.tools.limits, run))),
  };
}

/** Of the present attempts of all its tasks. */
export async function usageOf(limits: LimitsDriver, run: AllocationRun): Promise<AllocationUsage> {
  const begun = run.tasks.filter(({ attemptNumber }) => attemptNumber > 0);
  const uses = await Promise.all(
    begun.map(({ task, attemptNumber }) => limits.stat(attemptName(run.id, task.name, attemptNumber))),
  );
  const sum = (fact: 'cpuMs' | 'memoryBytes' | 'pids'): number | null =>
    uses.reduce<number | null>((total, use) => {
      const part = use[fact];
      return part === undefined ? total : (total ?? 0) + part;
    }, null);
  return { id: run.id, cpuMs: sum('cpuMs'), memoryBytes: sum('memoryBytes'), pids: sum('pids') };
}
