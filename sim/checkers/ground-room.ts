import type { Resources } from '../../src/core/resources.ts';
import { addResources, NO_RESOURCES, shortOf, subtractResources } from '../../src/core/resources.ts';
import { allocatable } from '../../src/core/host.ts';
import type { Stamp } from '../history/history.ts';
import type { CellAt } from './cell-replay.ts';
import type { ProcessStory, RunBook } from './run-book.ts';
import type { Findings } from './violations.ts';

/**
 * I1 on the ground: at every moment, what really runs on a host fits into it. The ledger counts an allocation that gives
 * way as gone, so only the host keeps its newcomer from starting beside it.
 */
export function checkGroundRoom(book: RunBook, cell: CellAt, findings: Findings): void {
  const changes: { readonly at: Stamp; readonly process: ProcessStory; readonly by: 1 | -1 }[] = [];
  for (const process of book.processes) {
    changes.push({ at: process.started, process, by: 1 });
    if (process.ended !== null) changes.push({ at: process.ended, process, by: -1 });
  }
  changes.sort((a, b) => a.at.seq - b.at.seq);
  const hosts = new Map<string, Room>();
  for (const { at, process, by } of changes) {
    const resources = book.allocations.get(process.allocation)?.allocation.resources;
    const host = cell.hosts.get(process.host);
    if (resources === undefined || host === undefined) continue;
    let room = hosts.get(host.id);
    if (room === undefined)
      hosts.set(host.id, (room = { whole: allocatable(host), used: NO_RESOURCES, living: new Map() }));
    const living = (room.living.get(process.allocation) ?? 0) + by;
    room.living.set(process.allocation, living);
    if (by === -1 && living === 0) room.used = subtractResources(room.used, resources);
    if (by === -1 || living > 1) continue;
    room.used = addResources(room.used, resources);
    const short = shortOf(room.used, room.whole);
    if (short === null) continue;
    const others = [...room.living].filter(([id, count]) => count > 0 && id !== process.allocation);
    findings.prove(
      'I1',
      process.allocation,
      `runs on ${host.id} beside ${others.map(([id]) => id).join(' ')}, and there is less ${short.dimension}`,
      [at],
    );
  }
}

interface Room {
  readonly whole: Resources;
  used: Resources;
  /** Processes of each allocation. */
  readonly living: Map<string, number>;
}
