import type { Allocation } from '../cell/allocation.ts';
import type { VolumeBinding, VolumeUse } from '../cell/volume.ts';
import { poolName } from './shared-resource.ts';

/**
 * Claims on volumes are pools: what is taken of one is the number of its holders, and changes in the transaction that places
 * or releases them. So an exclusive volume never has two holders, and data that lies on one host never has a second copy that
 * nobody asked for. Data of a volume driver lies on no host: whoever holds its claim has it where it runs.
 */

/** No shared resource can have this name. */
export const VOLUME_POOL = '@volume';
const PREFIX = `${VOLUME_POOL}/`;

export function isVolumePool(pool: string): boolean {
  return pool.startsWith(PREFIX);
}

export function volumePool(namespace: string, claim: string): string {
  return poolName(VOLUME_POOL, `${namespace}/${claim}`);
}

/** @returns the namespace and the claim; null: the pool is no volume's */
export function claimOfPool(pool: string): { readonly namespace: string; readonly claim: string } | null {
  if (!isVolumePool(pool)) return null;
  const [, namespace = '', claim = ''] = pool.split('/');
  return { namespace, claim };
}

/** What is known of a claim: how many allocations hold it, and where its data lies. */
export interface ClaimState {
  readonly used: number;
  readonly volume?: VolumeBinding;
}

/**
 * The claim with one more holder.
 * @param isLost is this host lost?
 * @returns for people: why the allocation may not hold it
 */
export function withHolder(
  { used, volume }: ClaimState,
  place: Allocation,
  use: VolumeUse,
  isLost: (host: string) => boolean,
): ClaimState | string {
  if (volume === undefined) return { used: used + 1, volume: bindingOf(place, use) };
  if (volume.deleting === true) return `volume ${use.claim} is being deleted`;
  if (volume.driver !== use.driver)
    return `volume ${use.claim} is there already, ${volume.driver === undefined ? `on ${volume.host}` : `of driver ${volume.driver}`}`;
  if (volume.driver !== undefined) return withBrought({ used, volume }, place, use);
  if (volume.host !== place.host || volume.id !== use.id) {
    const leaves = use.onLoss === 'recreate' && volume.id !== use.id && isLost(volume.host);
    if (!leaves) return `volume ${use.claim} lies on ${volume.host}`;
    const left = { host: volume.host, id: volume.id, used: used - leftUse(volume) };
    return { used: used + 1, volume: { ...bindingOf(place, use), left: [...(volume.left ?? []), left] } };
  }
  if (volume.access !== use.access || volume.source !== use.source)
    return `volume ${use.claim} is there already, for ${volume.access} use${volume.source === undefined ? '' : ` of ${volume.source}`}`;
  if (volume.access === 'exclusive' && used > leftUse(volume))
    return `volume ${use.claim} has a holder, and is not shared`;
  return { used: used + 1, volume };
}

/** The same of data that a driver brings to the host of its holder. */
function withBrought(
  { used, volume }: { readonly used: number; readonly volume: VolumeBinding },
  { host }: Allocation,
  use: VolumeUse,
): ClaimState | string {
  const { claim, id, access, create, force } = use;
  if (volume.id !== id) return `volume ${claim} has other data by now`;
  if (volume.access !== access) return `volume ${claim} is there already, for ${volume.access} use`;
  if (access === 'exclusive' && used > 0) return heldText(claim, volume);
  if (create === true && volume.begun === true) return `volume ${claim} has begun by now`;
  if (force === true && volume.fenced !== true)
    return `volume ${claim} is not to be taken from ${volume.host}: nobody answers for that host`;
  return { used: used + 1, volume: { ...volume, host } };
}

/** For people: why nobody else may have it now. */
export function heldText(claim: string, { host }: Pick<VolumeBinding, 'host'>): string {
  return `volume ${claim} has a holder on ${host}, and is not shared`;
}

/**
 * How a holder left. `never-ran`: it began no data; of data on one host, only the first holder. `ended`: by its host's word, with the data detached.
 * `given-up`: without it. `fenced`: also without it, but somebody answers for it that it runs no more.
 */
export type HolderEnd = 'never-ran' | 'ended' | 'given-up' | 'fenced';

/**
 * The claim with one holder less; its data stays.
 * @returns null: it has no such holder
 */
export function withoutHolder(
  { used, volume }: ClaimState,
  use: VolumeUse,
  end: HolderEnd = 'ended',
): ClaimState | null {
  if (used < 1) return null;
  if (volume?.driver !== undefined) return { used: used - 1, volume: afterHolder(volume, end) };
  const began = end !== 'never-ran';
  if (!began && used === 1 && volume?.id === use.id && volume.left === undefined) return { used: 0 };
  if (volume?.left === undefined || volume.id === use.id)
    return { used: used - 1, ...(volume && { volume }) };
  const left = volume.left.map((one) => (one.id === use.id ? { ...one, used: one.used - 1 } : one));
  return left.some((one) => one.used < 0) ? null : { used: used - 1, volume: { ...volume, left } };
}

/** After one that ran and was detached no other host has the data any more. */
function afterHolder(volume: VolumeBinding, end: HolderEnd): VolumeBinding {
  if (end === 'never-ran') return volume;
  const { fenced: before, ...rest } = volume;
  const isFenced = end === 'fenced' || (before === true && end === 'given-up');
  return { ...rest, begun: true, ...(isFenced ? { fenced: true } : {}) };
}

/** How many hold what was left on lost hosts. */
export function leftUse({ left = [] }: VolumeBinding): number {
  return left.reduce((sum, one) => sum + one.used, 0);
}

function bindingOf({ host, job, createdAtMs }: Allocation, use: VolumeUse): VolumeBinding {
  const { id, source, access, onLoss, driver } = use;
  const of = { ...(source === undefined ? {} : { source }), ...(driver === undefined ? {} : { driver }) };
  return { host, id, ...of, access, onLoss, job, createdAtMs };
}
