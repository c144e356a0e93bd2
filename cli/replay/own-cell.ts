import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LocalCell } from '../local-cell/local-cell.ts';
import type { LocalCellOptions } from '../local-cell/local-cell.ts';
import type { TraceHost } from '../openb/openb.ts';

export interface OwnCellOptions extends Omit<LocalCellOptions, 'compaction' | 'name' | 'fresh'> {
  readonly hosts: readonly TraceHost[];
  readonly schedulers: number;
  readonly conflictCheck: string | undefined;
}

const MONITORS = 2;

/**
 * A cell of its own for one replay, empty whatever an earlier one left: hollow hosts, competing batch schedulers.
 *
 * @returns a cell that must be stopped by the caller, also when `start` fails
 */
export function ownCell(options: OwnCellOptions): { cell: LocalCell; start: () => Promise<void> } {
  const cell = new LocalCell({ ...options, name: 'replay', fresh: true, compaction: 'off' });
  const conflictCheck =
    options.conflictCheck === undefined ? [] : ['--conflict-check', options.conflictCheck];
  const schedulers = Array.from({ length: options.schedulers }, (_, index) => ({
    id: `batch-${String(index + 1)}`,
    args: ['--kind', 'batch', ...conflictCheck],
  }));
  const start = async (): Promise<void> => {
    await cell.startStore();
    await cell.startRoles({
      hosts: () =>
        options.steps.step(
          'hosts',
          () => startHosts(cell, options.hosts),
          () => `${String(options.hosts.length)} hollow hosts in one process`,
        ),
      monitors: MONITORS,
      schedulers,
    });
    cell.announce();
  };
  return { cell, start };
}

function startHosts(cell: LocalCell, hosts: readonly TraceHost[]) {
  const file = join(cell.folder.path, 'hosts.json');
  writeFileSync(file, JSON.stringify(hosts));
  return cell.role('hollow', 'hollow-1', ['--hosts', file, '--keys', cell.folder.keys]);
}
