import type { Group } from '../cell/job.ts';
import { liesOnHost } from '../cell/volume.ts';
import { attributeOf, meets } from '../host/attributes.ts';
import type { Host } from '../host/host.ts';
import type { JobView, LiveAllocation } from './job-view.ts';

/**
 * Allocations whose host is not where the group may run: it does not meet the constraints, since these or the host's labels
 * changed, or, of an earlier version, shares a `distinct` value with another allocation. The others stay: a change of where a
 * group may run restarts nothing that runs where it may. What no drain moves, no label moves either.
 */
export function misplacedOf(view: JobView, group: Group): ReadonlySet<string> {
  const { version } = view.record;
  const live = view.live.filter(
    ({ allocation }) => allocation.group === group.name && allocation.desired === 'run',
  );
  const isOlder = ({ allocation }: LiveAllocation): boolean => allocation.jobVersion !== version;
  const mayMove = staysByItself(group) ? isOlder : () => true;
  if (!live.some(mayMove)) return NONE;
  const misplaced = new Set<string>();
  const held = new Set<string>();
  // Where two share a value, the one that was placed by the present version stays.
  const newestFirst = [...live].sort(
    (a, b) => b.allocation.jobVersion - a.allocation.jobVersion || a.allocation.index - b.allocation.index,
  );
  for (const one of newestFirst) {
    const host = view.hostOf(one.allocation.host);
    // A host whose record is gone says nothing.
    if (host === undefined) continue;
    const values = valuesOf(host, group);
    const isWrong =
      !group.constraints.every((expression) => meets(host, expression)) ||
      (isOlder(one) && values.some((value) => held.has(value)));
    if (mayMove(one) && isWrong) misplaced.add(one.allocation.id);
    else for (const value of values) held.add(value);
  }
  return misplaced;
}

/** Its policy says that no change of a host moves it, or its data lies there. */
function staysByItself(group: Group): boolean {
  return group.reschedule.onDrain === false || liesOnHost(group);
}

function valuesOf(host: Host, { distinct }: Group): readonly string[] {
  return distinct.map((attribute) => `${attribute}=${attributeOf(host, attribute) ?? ''}`);
}

const NONE: ReadonlySet<string> = new Set();
