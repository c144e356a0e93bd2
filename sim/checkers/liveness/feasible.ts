import type { Ask } from '../../../src/core/cell/ask.ts';
import { askOf } from '../../../src/core/cell/ask.ts';
import { attributeOf, meets, plainAttribute } from '../../../src/core/host/attributes.ts';
import type { Host } from '../../../src/core/host/host.ts';
import { allocatable } from '../../../src/core/host/host.ts';
import type { Group, JobRecord } from '../../../src/core/cell/job.ts';
import { schedulerKindOf } from '../../../src/core/cell/job.ts';
import type { GpuRequest, Resources } from '../../../src/core/cell/resources.ts';
import {
  addResources,
  GPU_MILLI_PER_DEVICE,
  NO_RESOURCES,
  shortOf,
  subtractResources,
} from '../../../src/core/cell/resources.ts';
import { capacityOf, partsOfPool, poolOn } from '../../../src/core/quota/shared-resource.ts';
import { isInForce } from '../../../src/core/quota/pauses.ts';
import type { CellAt } from '../replay/replay.ts';
import type { Amounts } from '../resources/quotas.ts';
import { addAmounts, overQuota } from '../resources/quotas.ts';

/**
 * Could a scheduler have placed one more of the group, as the cell stands? Counts only what is sure: a place that needs a
 * preemption counts as none.
 *
 * @param alive hosts with a session
 * @param outstanding what is granted of the namespace's quota and not in the store
 * @returns a host that has capacity; null when there is none, or no scheduler that may place
 */
export function feasibleHost(
  cell: CellAt,
  record: JobRecord,
  group: Group,
  alive: ReadonlySet<string>,
  outstanding: Amounts,
): string | null {
  if (isPausedAnywhere(cell)) return null;
  if (!hasScheduler(cell, schedulerKindOf(record.job))) return null;
  const ask = askOf(group);
  if (!isWithinQuota(cell, record.job.namespace, ask, outstanding)) return null;
  // All of a gang or none: whether a gang has a place takes a search over all hosts.
  if (group.gang && group.count > 1) return null;
  for (const host of cell.hosts.values()) {
    if (!alive.has(host.id) || (cell.eligibility.get(host.id)?.state ?? 'ready') !== 'ready') continue;
    if (!group.constraints.every((expression) => meets(host, expression))) continue;
    if (isKeptDistinct(cell, record, group, host) || !hasCapacity(cell, host, ask.resources, ask.ports))
      continue;
    if (!poolsHaveCapacity(cell, host, ask.shared ?? {}) || !devicesHaveCapacity(cell, host, ask.gpu))
      continue;
    return host.id;
  }
  return null;
}

/** Then nothing is sure: no scope is looked at. */
function isPausedAnywhere({ pauses }: CellAt): boolean {
  for (const pause of pauses.values()) if (pause.what === 'placement' && isInForce(pause)) return true;
  return false;
}

function hasScheduler(cell: CellAt, kind: string): boolean {
  for (const role of cell.roles.values())
    if (role.kind === 'scheduler' && role.policy.split('-')[0] === kind) return true;
  return false;
}

function isWithinQuota(
  cell: CellAt,
  namespace: string,
  { resources, gpu }: Ask,
  outstanding: Amounts,
): boolean {
  const quota = cell.quotas.get(namespace);
  if (quota === undefined) return true;
  const sum = { ...outstanding };
  for (const allocation of cell.allocations.values())
    if (allocation.namespace === namespace) addAmounts(sum, allocation, 1);
  const gpus = gpu === null ? [] : [{ device: 0, milli: gpu.count * gpu.milliEach }];
  addAmounts(sum, { resources, gpus }, 1);
  return overQuota(sum, quota) === null;
}

function hasCapacity(
  cell: CellAt,
  host: Host,
  asked: Resources,
  ports: Readonly<Record<string, number>>,
): boolean {
  let used = NO_RESOURCES;
  const taken = new Set<number>();
  for (const allocation of cell.allocations.values()) {
    if (allocation.host !== host.id) continue;
    // Also of preempted ones: their successor may not be in the store yet.
    used = addResources(used, allocation.resources);
    for (const port of Object.values(allocation.ports)) taken.add(port);
  }
  if (shortOf(asked, subtractResources(allocatable(host), used)) !== null) return false;
  const fixed = Object.values(ports).filter((port) => port !== 0);
  if (fixed.some((port) => taken.has(port))) return false;
  const { first, last } = host.portRange;
  return last - first + 1 - taken.size >= Object.keys(ports).length;
}

/** Are there so many devices of these models with so much free? Preempted allocations count, as in `hasCapacity`. */
function devicesHaveCapacity(cell: CellAt, host: Host, asked: GpuRequest | null): boolean {
  if (asked === null) return true;
  const used = host.gpuModels.map(() => 0);
  for (const allocation of cell.allocations.values())
    if (allocation.host === host.id)
      for (const { device, milli } of allocation.gpus) used[device] = (used[device] ?? 0) + milli;
  const fitting = host.gpuModels.filter(
    (model, device) =>
      (asked.models.length === 0 || asked.models.includes(model)) &&
      GPU_MILLI_PER_DEVICE - (used[device] ?? 0) >= asked.milliEach,
  );
  return fitting.length >= asked.count;
}

function poolsHaveCapacity(cell: CellAt, host: Host, asked: Readonly<Record<string, number>>): boolean {
  return Object.entries(asked).every(([name, amount]) => {
    const resource = cell.shared.get(name);
    const pool = resource === undefined ? null : poolOn(host, resource);
    return pool !== null && poolHasCapacity(cell, pool, amount);
  });
}

/** Is so much left of the pool? */
export function poolHasCapacity(cell: CellAt, pool: string, amount: number): boolean {
  const { resource: name, value } = partsOfPool(pool);
  const resource = cell.shared.get(name);
  return resource !== undefined && amount <= capacityOf(resource, value) - (cell.pools.get(pool)?.used ?? 0);
}

function isKeptDistinct(cell: CellAt, { job }: JobRecord, group: Group, host: Host): boolean {
  if (group.distinct.length === 0) return false;
  for (const other of cell.allocations.values()) {
    if (other.namespace !== job.namespace || other.job !== job.name || other.group !== group.name) continue;
    const otherHost = cell.hosts.get(other.host);
    for (const attribute of group.distinct) {
      const name = plainAttribute(attribute);
      if (otherHost !== undefined && attributeOf(host, name) === attributeOf(otherHost, name)) return true;
    }
  }
  return false;
}
