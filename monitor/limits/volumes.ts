import type { HostClient } from '../../src/clients/host-client.ts';
import type { VolumeBinding } from '../../src/core/cell/volume.ts';
import { volumeDriverAttribute } from '../../src/core/cell/volume.ts';
import { claimOfPool, volumePool } from '../../src/core/quota/volume-claims.ts';
import type { Compare, Write } from '../../src/ports/cell-store.ts';
import type { VolumeStatus } from '../../src/wire/api/volume-api.ts';
import { poolCodec } from '../../src/wire/records/records.ts';
import { outcomeUnknown, refuse } from '../refusals.ts';
import type { CellCopy } from '../view/view.ts';
import type { LimitPorts } from './limits.ts';

const HINT = 'moorage volume list';

/** Claims on volumes, by namespace and name. */
export function volumeList(copy: CellCopy): readonly VolumeStatus[] {
  const holders = new Map<string, string[]>();
  for (const [, { value }] of copy.allocations.rows())
    for (const { claim } of value.volumes ?? []) {
      const pool = volumePool(value.namespace, claim);
      holders.set(pool, [...(holders.get(pool) ?? []), value.id]);
    }
  return [...copy.pools.rows()]
    .flatMap(([pool, { value }]) => {
      const of = claimOfPool(pool);
      if (of === null || value.volume === undefined) return [];
      const { id: _id, left = [], deleting, begun: _begun, ...volume } = value.volume;
      const isThere = copy.alive.get(volume.host) !== undefined;
      const status = { ...of, ...volume, left, isThere, isDeleting: deleting === true };
      return [{ ...status, holders: (holders.get(pool) ?? []).sort() }];
    })
    .sort((a, b) => (`${a.namespace}/${a.claim}` < `${b.namespace}/${b.claim}` ? -1 : 1));
}

export interface VolumePorts extends LimitPorts {
  readonly copy: CellCopy;
  readonly hosts: HostClient;
}

/**
 * Deletes data for good. First nothing is placed with it any more, then its hosts delete it, then its claim goes: who repeats
 * this goes on where it stopped.
 *
 * @param isGivenUp data on a host that does not answer is given up: it stays there, and nobody knows of it
 * @returns the revision at which the claim is gone
 * @throws ProblemError
 */
export async function deleteVolume(
  ports: VolumePorts,
  { namespace, claim }: { readonly namespace: string; readonly claim: string },
  isGivenUp: boolean,
): Promise<number> {
  const { store, keys } = ports;
  const key = keys.pool(volumePool(namespace, claim));
  const entry = (await store.read([key])).entries.get(key);
  const known = entry === undefined ? null : poolCodec.decode(entry.value);
  if (entry === undefined || known?.volume === undefined)
    throw refuse(404, 'no-such-volume', `namespace ${namespace} has no volume ${claim}`, { hint: HINT });
  if (known.used > 0)
    throw refuse(409, 'volume-in-use', `${String(known.used)} of ${known.volume.job} have volume ${claim}`, {
      hint: `moorage stop ${known.volume.job}`,
    });
  const { volume } = known;
  const marked = poolCodec.encode({ used: 0, volume: { ...volume, deleting: true } });
  const revision =
    volume.deleting === true
      ? entry.modRevision
      : await write(ports, key, entry.modRevision, { kind: 'put', key, value: marked });
  if (volume.driver !== undefined)
    await deleteBy(ports, volume.driver, { namespace, claim, id: volume.id }, isGivenUp);
  else
    for (const data of [volume, ...(volume.left ?? [])])
      await deleteOn(ports, { namespace, claim, volume, data }, isGivenUp);
  return write(ports, key, revision, { kind: 'delete', key });
}

/** Any host that has the driver will do. */
async function deleteBy(
  { copy, hosts }: VolumePorts,
  driver: string,
  data: { readonly namespace: string; readonly claim: string; readonly id: string },
  isGivenUp: boolean,
): Promise<void> {
  const attribute = volumeDriverAttribute(driver);
  let why = `no host that is there has the volume driver ${driver}`;
  for (const [id, { value: host }] of copy.hosts.rows()) {
    if (host.attributes[attribute] === undefined || copy.alive.get(id) === undefined) continue;
    const answer = await hosts.deleteVolume(host.address, { ...data, driver });
    if (answer === null) return;
    why = `${id}: ${answer}`;
  }
  if (isGivenUp) return;
  throw refuse(409, 'host-away', `the data of volume ${data.claim} is not deleted: ${why}`, {
    hint: 'the same again when that is mended; or give its data up, and delete it by hand: --lost',
  });
}

async function deleteOn(
  { copy, hosts }: VolumePorts,
  what: {
    readonly namespace: string;
    readonly claim: string;
    readonly volume: VolumeBinding;
    readonly data: { readonly host: string; readonly id: string };
  },
  isGivenUp: boolean,
): Promise<void> {
  const { namespace, claim, volume, data } = what;
  // What the operator announces is the operator's.
  if (volume.source !== undefined) return;
  const address = copy.hosts.get(data.host)?.value.address;
  const why =
    address === undefined
      ? 'it is not registered'
      : await hosts.deleteVolume(address, { namespace, claim, id: data.id });
  if (why === null || isGivenUp) return;
  throw refuse(409, 'host-away', `host ${data.host} has not deleted the data of volume ${claim}: ${why}`, {
    hint: 'the same again when the host is back; or give its data up: --lost',
  });
}

async function write({ store }: LimitPorts, key: string, equals: number, change: Write): Promise<number> {
  const compares: Compare[] = [{ key, target: 'modRevision', equals }];
  const reply = await store.attempt({ compares, writes: [change], readBack: [] });
  if (reply.outcome === 'unknown')
    throw outcomeUnknown('ask for the same again: it goes on where it stopped');
  if (reply.outcome === 'refused')
    throw refuse(409, 'contended', 'the volume was taken or changed meanwhile', { hint: HINT });
  return reply.revision;
}
