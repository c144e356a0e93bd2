import type { Group } from '../cell/job.ts';
import type { Slot } from './slot-table.ts';
import { nextOf, sameWorkAs, slotTable, vacantInMs } from './slot-table.ts';
import type { Hold } from './counted-slots.ts';
import { displacedIn, holdIn, offer, replaceDisplaced } from './counted-slots.ts';
import type { JobView, EvaluationDraft } from './job-view.ts';
import { CAUSES } from './job-view.ts';

/**
 * The rules of a system job: one allocation on each host that matches and takes work. The index is only a name; a host
 * gets the index that it had before if it is free.
 */
export function evaluateSystem(view: JobView, group: Group, draft: EvaluationDraft): void {
  // Such a job never ends by itself: another host may come at any time.
  draft.open = true;
  const table = slotTable(view, group.name);
  const matching = view.matching(group);
  const sameWork = sameWorkAs(view, group);
  leaveOthers(view, table, new Set(matching.map(({ host }) => host)), draft);
  const held = new Set<string>();
  const taken = new Set<number>();
  const displaced = displacedIn(view, group, table, { sameWork, runsForEver: true }, draft);
  const holds: Hold[] = [];
  for (const [index, slot] of table) {
    if (vacantInMs(view, slot) === 0) continue;
    taken.add(index);
    for (const live of slot.live) held.add(live.allocation.host);
    const isReady = slot.live.some(({ allocation }) => view.hostCondition(allocation.host).state === 'ready');
    const hold = isReady ? holdIn(view, group, slot, displaced, draft) : null;
    if (hold !== null) holds.push({ index, slot, live: hold.live });
  }
  const before = indexesByHost(table);
  const nextFree = freeIndexes(taken, new Set(before.values()));
  for (const { host, ready } of matching) {
    if (!ready || held.has(host)) continue;
    const earlier = before.get(host);
    const index = earlier !== undefined && !taken.has(earlier) ? earlier : nextFree();
    taken.add(index);
    const slot = ofHost(table.get(index), host);
    const next = nextOf(view, group, index, slot, {
      runsForEver: true,
      waitingSinceMs: view.nowMs,
      sameWork,
    });
    if (next.kind !== 'fill') continue;
    holds.push({ index, slot, live: null });
    offer(view, { ...group, waitMaxMs: null }, { ...next.fill, avoidHosts: [], host }, draft);
  }
  replaceDisplaced(
    view,
    group,
    displaced,
    { holds, unreachable: [], runsForEver: true, sameWork, table },
    draft,
  );
}

/** The slot without what happened in it on other hosts. */
function ofHost(slot: Slot | undefined, host: string): Slot | undefined {
  if (slot === undefined) return undefined;
  const attempts = slot.history.filter((outcome) => outcome.host === host);
  const live = slot.live.filter(({ allocation }) => allocation.host === host);
  return { live, aside: [], history: attempts };
}

function leaveOthers(
  view: JobView,
  table: ReadonlyMap<number, Slot>,
  matching: ReadonlySet<string>,
  draft: EvaluationDraft,
): void {
  for (const slot of table.values()) {
    for (const { allocation } of slot.live) {
      if (allocation.desired !== 'run' || matching.has(allocation.host)) continue;
      if (view.hostCondition(allocation.host).state === 'lost') continue;
      draft.stops.push({ allocation, mode: 'remove', cause: CAUSES.notMatching });
    }
  }
}

function indexesByHost(table: ReadonlyMap<number, Slot>): Map<string, number> {
  const indexes = new Map<string, number>();
  for (const [index, slot] of table) {
    const host = slot.history.at(-1)?.host;
    if (host !== undefined) indexes.set(host, index);
  }
  return indexes;
}

/** Each call: the next index that is neither held nor another host's earlier one. */
function freeIndexes(taken: ReadonlySet<number>, reserved: ReadonlySet<number>): () => number {
  let next = 0;
  return () => {
    while (taken.has(next) || reserved.has(next)) next += 1;
    return next;
  };
}
