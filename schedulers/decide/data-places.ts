import type { Group } from '../../src/core/cell/job.ts';
import type { Volume, VolumeUse } from '../../src/core/cell/volume.ts';
import { claimName } from '../../src/core/cell/volume.ts';
import { volumePool } from '../../src/core/quota/volume-claims.ts';
import type { Fill } from '../../src/core/slots/job-view.ts';
import type { PrivateCell } from '../state/cell.ts';
import type { OwnedJob } from '../state/owned-job.ts';

/** Where the data of a claim is known to lie, or will by a placement under way. */
interface Known {
  readonly host: string;
  readonly id: string;
}

/**
 * Where the data of slots lies: a slot goes there and nowhere else, until the data's host is lost and its group begins again
 * without it. The record of a claim says it, or an allocation of the same job that is not committed yet.
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
    const isOpen = (fill: Fill): boolean => fill.host === undefined;
    const shares = Object.values(group.volumes).some(({ access }) => access === 'shared');
    if (!shares || bound.filter(isOpen).length < 2) return bound;
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
      };
    });
  }

  /** Of the data that keeps a fill to its host, for people; null: none does. */
  reason(job: OwnedJob, group: Group, fill: Fill): string | null {
    for (const [name, volume] of Object.entries(group.volumes ?? {})) {
      const claim = claimName(job.name, group.name, { name, volume, index: fill.index });
      const known = this.#known(job, claim, volume);
      if (known !== null) return `data of volume ${claim} lies on ${known.host}`;
    }
    return null;
  }

  /** Data on different hosts keeps to the first of them; the commit refuses the rest. */
  #hostOf(job: OwnedJob, group: Group, { index }: Fill): string | null {
    for (const [name, volume] of Object.entries(group.volumes ?? {})) {
      const known = this.#known(job, claimName(job.name, group.name, { name, volume, index }), volume);
      if (known !== null) return known.host;
    }
    return null;
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
