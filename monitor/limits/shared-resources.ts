import { canonicalJson } from '../../src/core/json/canonical-json.ts';
import type { SharedResource } from '../../src/core/quota/shared-resource.ts';
import { CELL_POOL, capacityOf, partsOfPool, poolOn } from '../../src/core/quota/shared-resource.ts';
import { isVolumePool } from '../../src/core/quota/volume-claims.ts';
import { SHARED_RESOURCES_MAX } from '../../src/wire/values/bounds.ts';
import type { PoolStatus, SharedStatus } from '../../src/wire/api/cell-api.ts';
import { sharedResourceCodec } from '../../src/wire/records/records.ts';
import type { CellCopy } from '../view/view.ts';
import type { LimitPorts } from './limits.ts';
import { writeLimit } from './limits.ts';
import { refuse } from '../refusals.ts';

/** What hosts share, as people see it: definitions with what is taken of each pool. */
export function sharedList(copy: CellCopy): readonly SharedStatus[] {
  const names = new Set([...copy.shared.rows()].map(([name]) => name));
  for (const [pool, { value }] of copy.pools.rows())
    if (value.used > 0 && !isVolumePool(pool)) names.add(partsOfPool(pool).resource);
  return [...names].sort().map((name) => sharedStatus(copy, name));
}

export function sharedStatus(copy: CellCopy, name: string): SharedStatus {
  const known = copy.shared.get(name)?.value;
  const { unit, by, capacity } = known ?? { unit: '', by: null, capacity: 0 };
  return {
    name,
    unit,
    by,
    capacity,
    pools: poolsOfResource(copy, name, known),
    isDefined: known !== undefined,
    ...(known?.rate === undefined ? {} : { rate: known.rate }),
  };
}

function poolsOfResource(
  copy: CellCopy,
  name: string,
  known: SharedResource | undefined,
): readonly PoolStatus[] {
  const hosts = new Map<string, number>();
  if (known?.by === null) hosts.set(CELL_POOL, 0);
  for (const id of known === undefined ? [] : copy.hosts.names()) {
    const host = copy.hostOf(id);
    const pool = known === undefined || host === undefined ? null : poolOn(host, known);
    if (pool === null) continue;
    const { value } = partsOfPool(pool);
    hosts.set(value, (hosts.get(value) ?? 0) + 1);
  }
  const used = new Map<string, number>();
  for (const [pool, row] of copy.pools.rows()) {
    const { resource, value } = partsOfPool(pool);
    if (resource === name && row.value.used > 0) used.set(value, row.value.used);
  }
  return [...new Set([...hosts.keys(), ...used.keys()])].sort(BY_NUMBER.compare).map((value) => ({
    value,
    capacity: known === undefined ? 0 : capacityOf(known, value),
    used: used.get(value) ?? 0,
    hosts: hosts.get(value) ?? 0,
  }));
}

/** `r9` before `r10`. */
const BY_NUMBER = new Intl.Collator('en', { numeric: true });

/**
 * Replaces the definition of a resource. What is claimed stays claimed, also when it is more than there is now: then nothing
 * more is given until enough has ended.
 *
 * @returns the revision at which it holds
 * @throws ProblemError 409 when the cell has as many as it may have
 */
export async function setShared(ports: LimitPorts, resource: SharedResource): Promise<number> {
  const { entries, revision } = await ports.store.list(ports.keys.shared);
  const key = ports.keys.sharedResource(resource.name);
  const known = entries.get(key);
  if (known === undefined && entries.size >= SHARED_RESOURCES_MAX)
    throw refuse(409, 'too-many', `a cell has at most ${String(SHARED_RESOURCES_MAX)} shared resources`, {
      hint: 'moorage shared',
    });
  if (known !== undefined && isSame(known.value, resource)) return revision;
  return writeLimit(ports, { kind: 'put', key, value: sharedResourceCodec.encode(resource) });
}

export function removeShared(ports: LimitPorts, name: string): Promise<number> {
  return writeLimit(ports, { kind: 'delete', key: ports.keys.sharedResource(name) });
}

function isSame(text: string, resource: SharedResource): boolean {
  try {
    return canonicalJson(sharedResourceCodec.decode(text)) === canonicalJson(resource);
  } catch {
    return false;
  }
}
