import type { Group } from '../core/cell/job.ts';
import type { AllocationStatus } from '../wire/api/monitor-api.ts';
import { ProblemError } from '../wire/api/problem.ts';
import type { MonitorClient } from './monitor-client.ts';

/** The group of an allocation, as its job is now; undefined: there is none of the name any more. */
export type GroupOf = (allocation: AllocationStatus['allocation']) => Group | undefined;

/** Reads the jobs of the allocations, each once. One that is deleted meanwhile has no groups. */
export async function groupsOf(
  api: Pick<MonitorClient, 'status'>,
  allocations: readonly AllocationStatus[],
  options: { readonly signal?: AbortSignal } = {},
): Promise<GroupOf> {
  const groups = new Map<string, Readonly<Record<string, Group>>>();
  for (const { allocation } of allocations) {
    const { namespace, job } = allocation;
    const key = `${namespace}/${job}`;
    if (groups.has(key)) continue;
    try {
      groups.set(key, (await api.status({ namespace, job }, options)).record.job.groups);
    } catch (error) {
      if (!(error instanceof ProblemError) || error.problem.status !== 404) throw error;
      groups.set(key, {});
    }
  }
  return ({ namespace, job, group }) => groups.get(`${namespace}/${job}`)?.[group];
}
