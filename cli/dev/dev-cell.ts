import { once } from 'node:events';
import type { SchedulerKind } from '../../src/core/cell/job.ts';
import type { LocalCellOptions, SchedulerStart } from '../local-cell/local-cell.ts';
import { idsOf, LocalCell } from '../local-cell/local-cell.ts';
import type { CellSize } from './usual-cell.ts';

export interface DevCellOptions extends Omit<LocalCellOptions, 'compaction' | 'nodeFlags'>, CellSize {}

/**
 * Ten processes that mostly wait share a developer's machine: with nurseries of 1 MiB for young objects, instead of up to
 * 16, they take a sixth less memory.
 */
const NODE_FLAGS = ['--max-semi-space-size=1'];

/** Each host offers a fixed small machine, whatever this one has, so that the demonstration is the same everywhere. */
const HOST_SIZE = ['--cpu', '4', '--memory', '4Gi', '--disk', '10Gi'];
/** Port ranges of the hosts do not meet, as all of them are the same machine. */
const HOST_PORTS_FIRST = 20_000;
const HOST_PORTS_EACH = 500;
/** In one word: where it serves its API it is told in another one. */
const ANY_DNS = '--dns=127.0.0.1:0';

/**
 * Brings up a development cell, whose hosts run what they are given.
 *
 * @returns a cell that must be stopped by the caller, also when `start` fails; `start` goes no further once `interrupted`
 */
export function devCell(
  options: DevCellOptions,
  interrupted: AbortSignal,
): { cell: LocalCell; start: () => Promise<void> } {
  const cell = new LocalCell({ ...options, nodeFlags: NODE_FLAGS, compaction: 'as-served' });
  const start = async (): Promise<void> => {
    await cell.startStore(cell.isNew ? '' : ', on the data of the last start');
    if (interrupted.aborted) return;
    const started = cell.startRoles({
      hosts: () => options.steps.step('hosts', () => startHosts(cell, options.hosts), idsOf),
      monitors: options.monitors,
      arbiters: options.arbiters,
      schedulers: schedulersOf(options.schedulers),
    });
    // Those that are still starting when it is interrupted are stopped with the others.
    await Promise.race([started, once(interrupted, 'abort')]);
    if (!interrupted.aborted) cell.announce();
  };
  return { cell, start };
}

/** Their ids are the kind and a number. */
function schedulersOf(kinds: readonly SchedulerKind[]): readonly SchedulerStart[] {
  return kinds.map((kind, at) => {
    const number = kinds.slice(0, at + 1).filter((one) => one === kind).length;
    return { id: `${kind}-${String(number)}`, args: ['--kind', kind] };
  });
}

function startHosts(cell: LocalCell, count: number) {
  return Promise.all(
    Array.from({ length: count }, (_, index) => {
      const id = `host-${String(index + 1)}`;
      const first = HOST_PORTS_FIRST + index * HOST_PORTS_EACH;
      const ports = `${String(first)}-${String(first + HOST_PORTS_EACH - 1)}`;
      const own = ['--data', cell.folder.host(id), '--keys', cell.folder.keys, '--ports', ports];
      return cell.role('agent', id, [...HOST_SIZE, ...own, ANY_DNS, '--stop-tasks-on-exit']);
    }),
  );
}
