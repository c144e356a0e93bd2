import type { Group } from '../../src/core/cell/job.ts';
import type { Volume, VolumeUse } from '../../src/core/cell/volume.ts';
import { claimName } from '../../src/core/cell/volume.ts';
import { heldText, leftUse, volumePool } from '../../src/core/quota/volume-claims.ts';
import type { Fill } from '../../src/core/slots/job-view.ts';
import type { PrivateCell } from '../state/cell.ts';
import type { OwnedJob } from '../state/owned-job.ts';

type NamedVolume = readonly [name: string, volume: Volume];

/** Where the data of a claim is known to lie, or will by a placement under way. */
interface Known {
  readonly host: string;
  readonly id: string;
}

/** No host has this id: a fill that is bound to it waits. */
const NOWHERE = '';

/**
 * Where the data of slots lies: a slot goes there and nowhere else, until the data's host is lost and its group begins again
 * without it. The record of a claim says it, or an allocation of the same job that is not committed yet. Data of a volume
 * driver comes to any host that has the driver, and its slot waits while somebody else has it.
 */
export class DataPlaces {
  readonly #cell: Pick<PrivateCell, 'state' | 'condition'>;

  constructor(cell: Pick<PrivateCell, 'state' | 'condition'>) {
    this.#cell = cell;
  }

  /**
   * The fills with the hosts of their data. Of several that share data which lies nowhere yet only the first is kept: the
   * others follow it, in the next turn.
   */
  bind(job: OwnedJob, group: Group, fills: readonly Fill[]): readonly Fill[] {
    if (group.volumes === undefined) return fills;
    const bound = fills.map((fill) => {
      const host = this.#hostOf(job, group, fill);
      return host === null ? fill : { ...fill, host, avoidHosts: [] };
    });
    const begins = ([name, volume]: NamedVolume, { index }: Fill): boolean =>
      volume.access === 'shared' &&
      this.#known(job, claimName(job.name, group.name, { name, volume, index }), volume) === null;
    const volumes = Object.entries(group.volumes);
    const isOpen = (fill: Fill): boolean =>
      fill.host === undefined && volumes.some((one) => begins(one, fill));
    if (bound.filter(isOpen).length < 2) return bound;
    const first = bound.find(isOpen);
    return bound.filter((fill) => fill === first || !isOpen(fill));
  }

  /** What an allocation takes. @param id its own: that of data which begins with it */
  usesOf(job: OwnedJob, group: Group, index: number, id: string): readonly VolumeUse[] {
    return Object.entries(group.volumes ?? {}).map(([name, volume]) => {
      const claim = claimName(job.name, group.name, { name, volume, index });
      const known = this.#known(job, claim, volume);
      return {
        ...{ name, claim, id: known?.id ?? id },
        ...(volume.source === undefined ? {} : { source: volume.source }),
        access: volume.access,
        ...(volume.readOnly === true ? { readOnly: true as const } : {}),
        onLoss: volume.onLoss,
        ...(volume.driver === undefined ? {} : this.#broughtBy(job, claim, volume)),
      };
    });
  }

  /** What its driver is told. */
  #broughtBy(job: OwnedJob, claim: string, { driver, sizeMib, forceDetach }: Volume): Partial<VolumeUse> {
    const { volume } = this.#cell.state.pools.get(volumePool(job.namespace, claim));
    return {
      ...(driver === undefined ? {} : { driver }),
      ...(sizeMib === undefined ? {} : { sizeMib }),
      ...(volume?.begun === true ? {} : { create: true }),
      ...(forceDetach === true && volume?.fenced === true ? { force: true } : {}),
    };
  }

  /** Of the data that keeps a fill to its host, or waiting, for people; null: none does. */
  reason(job: OwnedJob, group: Group, fill: Fill): string | null {
    for (const [name, volume] of Object.entries(group.volumes ?? {})) {
      const claim = claimName(job.name, group.name, { name, volume, index: fill.index });
      const held = this.#heldText(job, claim, volume);
      if (held !== null) return held;
      if (volume.driver !== undefined) continue;
      const known = this.#known(job, claim, volume);
      if (known !== null) return `data of volume ${claim} lies on ${known.host}`;
    }
    return null;
  }

  /** Data on different hosts keeps to the first of them; the commit refuses the rest. */
  #hostOf(job: OwnedJob, group: Group, { index }: Fill): string | null {
    let host: string | null = null;
    for (const [name, volume] of Object.entries(group.volumes ?? {})) {
      const claim = claimName(job.name, group.name, { name, volume, index });
      if (this.#heldText(job, claim, volume) !== null) return NOWHERE;
      if (volume.driver === undefined) host ??= this.#known(job, claim, volume)?.host ?? null;
    }
    return host;
  }

  /** Who has data that is not shared, for people; null: nobody. */
  #heldText(job: OwnedJob, claim: string, wanted: Volume): string | null {
    const { used, volume } = this.#cell.state.pools.get(volumePool(job.namespace, claim));
    if (volume === undefined || used <= leftUse(volume) || wanted.access === 'shared') return null;
    if (volume.driver === undefined) {
      // It begins elsewhere, or has begun there: what is left on the lost host is nobody's affair.
      const isOther = this.#known(job, claim, wanted)?.id !== volume.id;
      return isOther ? null : heldText(claim, volume);
    }
    const isLost = this.#cell.condition(volume.host).state === 'lost';
    const remedy = isLost
      ? `: it is lost; if nothing runs there any more: moorage host remove ${volume.host} --reason TEXT`
      : '';
    return heldText(claim, volume) + remedy;
  }

  #known(job: OwnedJob, claim: string, { onLoss }: Volume): Known | null {
    const { volume } = this.#cell.state.pools.get(volumePool(job.namespace, claim));
    const isGone = (host: string): boolean =>
      onLoss === 'recreate' && this.#cell.condition(host).state === 'lost';
    if (volume !== undefined && !isGone(volume.host)) return volume;
    for (const { allocation } of job.entries.values()) {
      const use = allocation.volumes?.find((one) => one.claim === claim);
      if (use !== undefined && use.id !== volume?.id && !isGone(allocation.host))
        return { host: allocation.host, id: use.id };
    }
    return null;
  }
}
