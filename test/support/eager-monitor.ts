import type { JobStatus } from '../../src/wire/api/monitor-api.ts';
import type { CliProcess, DevCellProcess } from './cli.ts';
import { issueFor, startCli } from './cli.ts';

/**
 * A monitor beside those of a development cell, which gives its verdicts on lost hosts earlier than they do: for tests of what
 * follows a loss.
 * @param flags how early, and whatever else
 */
export async function startEagerMonitor(cell: DevCellProcess, flags: readonly string[]): Promise<CliProcess> {
  const where = ['--cell', cell.file.cell, '--etcd', cell.file.etcd[0] ?? '', '--id', 'monitor-9'];
  const shown = ['--credentials', await issueFor(cell, 'monitor', 'monitor-9')];
  return startCli(['monitor', ...where, ...shown, ...flags], { cwd: cell.folder });
}

/** Hosts of what is to run, and is seen to. @param status null: there is no such job */
export function runningOn(status: JobStatus | null): readonly string[] {
  return (status?.allocations ?? [])
    .filter((one) => one.allocation.desired === 'run' && one.report?.state === 'running' && !one.stale)
    .map((one) => one.allocation.host);
}
