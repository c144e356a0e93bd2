import type { MonitorClient } from '../../src/clients/monitor-client.ts';
import { isId } from '../../src/core/cell/ids.ts';
import type { AllocationStatus } from '../../src/wire/api/monitor-api.ts';
import type { Context } from '../command/context.ts';
import { CliError, EXIT } from '../command/exit.ts';
import { withJob } from './find-job.ts';
import { jobName } from './names.ts';

/**
 * The id of the allocation that is meant: `web[2]`, `shop.web[2]`, the name of a job that has only one, or an id.
 * @throws CliError
 */
export async function findAllocation(context: Context, api: MonitorClient, written: string): Promise<string> {
  const slot = /^([^.[]+)(?:\.([^[]+))?\[(\d+)\]$/.exec(written);
  if (slot === null && isId(written)) {
    const { allocations } = await api.allocations({});
    if (allocations.some(({ allocation }) => allocation.id === written)) return written;
  }
  const name = jobName(slot?.[1] ?? written, context.namespace);
  const { answer } = await withJob(api, name, (job) => api.status(job));
  const running = answer.allocations.filter(({ allocation }) => allocation.desired === 'run');
  const [group, index] = [slot?.[2], slot?.[3]];
  const meant = running
    .filter(({ allocation }) => group === undefined || allocation.group === group)
    .filter(({ allocation }) => index === undefined || allocation.index === Number(index));
  const [only] = meant;
  if (only !== undefined && meant.length === 1) return only.allocation.id;
  const next = `moorage ps ${answer.record.job.name}`;
  if (only === undefined)
    throw new CliError(EXIT.usage, `nothing of "${written}" is placed on a host now`, next);
  throw new CliError(EXIT.usage, `"${written}" may be any of ${namesOf(meant)}`, next);
}

const SHOWN_MAX = 8;

function namesOf(all: readonly AllocationStatus[]): string {
  const shown = all.slice(0, SHOWN_MAX).map((one) => one.name);
  return `${shown.join(', ')}${all.length > SHOWN_MAX ? ', ...' : ''}`;
}
