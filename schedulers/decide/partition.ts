import type { Chance, Stretch } from '../../src/core/random/chance.ts';
import type { ScoreName } from '../../src/core/scoring/policy.ts';
import type { Partition } from '../state/state.ts';

/** Fewer hosts than these for each partition are not divided. */
const DIVIDE_MIN = 16;

/**
 * Chance for a scheduler that packs beside others. A search begins at a random host and takes the best of the next ones; all
 * schedulers keep the hosts in the same order, which their ids give. So each scheduler begins in its own partition, goes from
 * there to the partition's end and round from its beginning, and only when that found nothing through all other hosts: two
 * schedulers choose the same host only where a partition is full. (To compare the last hosts of a partition with those of
 * the next one was the cause of most conflicts in a full cell: all schedulers found the same hosts best.)
 *
 * A few hosts that joined or left may have another place in the others' order: there two schedulers may conflict, as they
 * would without partitions.
 */
export function chanceInPartition(chance: Chance, own: () => Partition): Chance {
  const stretchOf = (bound: number): Stretch | null => {
    const { index: part, count: parts } = own();
    if (parts <= 1 || bound < parts * DIVIDE_MIN) return null;
    return { first: Math.floor((bound * part) / parts), end: Math.floor((bound * (part + 1)) / parts) };
  };
  return {
    fraction: () => chance.fraction(),
    below: (bound) => {
      const own = stretchOf(bound);
      return own === null ? chance.below(bound) : own.first + chance.below(own.end - own.first);
    },
    part: stretchOf,
  };
}

/** How many other schedulers search the part of the host at an index before this one: that of the part none. */
export function turnAt({ index: part, count: parts }: Partition, host: number, hosts: number): number {
  if (parts <= 1 || hosts < parts * DIVIDE_MIN) return 0;
  const there = Math.floor(((host + 0.5) * parts) / hosts);
  return (there - part + parts) % parts;
}

/** Points where searches begin, in turns: as many as transactions may well be under way, since a host is in one at a time. */
const POINTS_MAX = 8;
/**
 * Hosts of the partition for each point, four samples: with more points most hosts would be partly filled, and a task that
 * needs a host or a kind of device for itself would find none left.
 */
const HOSTS_PER_POINT = 128;
/** Searches from one point before the next one: about what goes into one transaction. */
const SEARCHES = 64;

/**
 * Chance for a scheduler that packs: searches begin again and again at a few points, so that jobs of one task fill the
 * same hosts one after the other. A commit then writes one ledger for many of them, and its transaction holds twice as
 * many; and the hosts are fuller than if each job began at other ones.
 *
 * `redraw` draws other points, after a host refused a start: else the search for every job would come by there. A lost
 * conflict is no reason: what other schedulers took is known now, and new points each time would partly fill all hosts.
 */
export class PackingChance implements Chance {
  readonly #chance: Chance;
  #points: number[] = [];
  #searches = 0;

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  fraction(): number {
    return this.#chance.fraction();
  }

  below(bound: number): number {
    return this.#chance.below(bound);
  }

  start(bound: number): number {
    const { first, end } = this.part(bound) ?? { first: 0, end: bound };
    const points = Math.max(1, Math.min(POINTS_MAX, Math.floor((end - first) / HOSTS_PER_POINT)));
    const point = Math.floor(this.#searches++ / SEARCHES) % points;
    const fine = (this.#points[point] ??= this.#chance.below(FINE));
    return Math.floor((fine / FINE) * bound);
  }

  part(bound: number): Stretch | null {
    return this.#chance.part?.(bound) ?? null;
  }

  redraw(): void {
    this.#points = [];
  }
}

/** How a scheduler searches: one that packs from few points in its partition, any other anywhere. */
export function chanceFor(score: ScoreName, random: Chance, own: () => Partition): Chance | PackingChance {
  // A policy that levels the load, or takes any host, treats all hosts alike.
  const packs = score === 'binpack' || score === 'fgd';
  return packs ? new PackingChance(chanceInPartition(random, own)) : random;
}

/** Points are kept as fractions of the whole, finer than there are hosts. */
const FINE = 2 ** 30;
