import { leaving } from '../core/host/leaving.ts';
import type { Job } from '../core/cell/job.ts';
import { ProblemError } from '../wire/api/problem.ts';
import type { JobRef } from './monitor-paths.ts';
import type { MonitorClient } from './monitor-client.ts';

/** One allocation on a host, and how it would leave when that is drained. */
export interface Leaver {
  readonly name: string;
  readonly id: string;
  /** For people. */
  readonly how: string;
}

/** Reads the jobs of all that should run on the host, each once. */
export async function drainPreview(
  api: Pick<MonitorClient, 'allocations' | 'status'>,
  host: string,
  { hasDeadline, signal }: { readonly hasDeadline: boolean; readonly signal?: AbortSignal },
): Promise<readonly Leaver[]> {
  const options = signal === undefined ? {} : { signal };
  const { allocations } = await api.allocations({ host }, options);
  const jobs = new Map<string, Job | null>();
  const leavers: Leaver[] = [];
  for (const { name, allocation } of allocations) {
    if (allocation.host !== host || allocation.desired !== 'run') continue;
    const { namespace, job, group, id } = allocation;
    const key = `${namespace}/${job}`;
    if (!jobs.has(key)) jobs.set(key, await jobOf(api, { namespace, job }, options));
    const spec = jobs.get(key);
    const stays = spec?.groups[group]?.reschedule.onDrain === false;
    leavers.push({ name, id, how: leaving(spec?.type ?? 'service', { hasDeadline, stays }) });
  }
  return leavers;
}

/** null: it was deleted meanwhile. */
async function jobOf(
  api: Pick<MonitorClient, 'status'>,
  ref: JobRef,
  options: { readonly signal?: AbortSignal },
): Promise<Job | null> {
  try {
    return (await api.status(ref, options)).record.job;
  } catch (error) {
    if (error instanceof ProblemError && error.problem.status === 404) return null;
    throw error;
  }
}
