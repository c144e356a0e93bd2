import type { Allocation } from '../cell/allocation.ts';
import type { VolumeBinding, VolumeUse } from '../cell/volume.ts';
import { poolName } from './shared-resource.ts';

/**
 * Claims on volumes are pools that lie on one host: what is taken of one is the number of its holders, and changes in the
 * transaction that places or releases them. So an exclusive volume never has two holders, and data never has a second copy
 * that nobody asked for.
 */

/** No shared resource can have this name. */
const VOLUME_POOL = '@volume';
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

/**
 * The claim with one holder less; its data stays.
 * @param began false: the first holder never ran, so that there is no data
 * @returns null: it has no such holder
 */
export function withoutHolder({ used, volume }: ClaimState, use: VolumeUse, began = true): ClaimState | null {
  if (used < 1) return null;
  if (!began && used === 1 && volume?.id === use.id && volume.left === undefined) return { used: 0 };
  if (volume?.left === undefined || volume.id === use.id)
    return { used: used - 1, ...(volume && { volume }) };
  const left = volume.left.map((one) => (one.id === use.id ? { ...one, used: one.used - 1 } : one));
  return left.some((one) => one.used < 0) ? null : { used: used - 1, volume: { ...volume, left } };
}

function leftUse({ left = [] }: VolumeBinding): number {
  return left.reduce((sum, one) => sum + one.used, 0);
}

function bindingOf({ host, job, createdAtMs }: Allocation, use: VolumeUse): VolumeBinding {
  const { id, source, access, onLoss } = use;
  return { host, id, ...(source === undefined ? {} : { source }), access, onLoss, job, createdAtMs };
}
