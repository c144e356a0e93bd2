import type { Chance, Stretch } from '../../src/core/random/chance.ts';
import type { ScoreName } from '../../src/core/scoring/policy.ts';

/** Which part of how many: the first is 0. */
export interface Part {
  readonly part: number;
  readonly parts: number;
}

/** Draws among fewer than so many for each part are made over all: there is too little to divide. */
const DIVIDE_MIN = 16;

/**
 * Chance for a scheduler that packs beside others. A search for a place begins somewhere by chance and takes the best of
 * the hosts that come next; all schedulers keep the hosts in the same order, as they learnt of them in the same order. So
 * each begins in a part of its own and goes through all of it first, and they reach for the same host only where a part is
 * full. Every host stays within everybody's reach.
 *
 * Hosts that joined while only some of the schedulers ran lie elsewhere in the others' order: there two may meet, as they
 * would without this, and one of them loses a conflict.
 */
export function chanceInPart(chance: Chance, ownPart: () => Part): Chance {
  const stretchOf = (bound: number): Stretch | null => {
    const { part, parts } = ownPart();
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

/** Places where searches begin, in turns: as many as transactions may well be under way, since a host is in one at a time. */
const PLACES_MAX = 8;
/**
 * Hosts of the own part for each place, four samples: with more places most hosts would be begun, and what needs a host
 * or a kind of device for itself would find none left.
 */
const HOSTS_PER_PLACE = 128;
/** Searches from one place, before it is the next one's turn: about what goes into one transaction. */
const TURN = 64;

/**
 * Chance for a scheduler that packs: searches begin again and again at a few places, so that jobs of one task fill the
 * same hosts one after the other. A commit then writes one ledger for many of them, and its transaction holds twice as
 * many; and the hosts are fuller than if each job had looked at other ones.
 *
 * `moveOn` draws other places. Whoever meets a host that refuses goes elsewhere: else every job would come by there. A lost
 * conflict is no reason: what the others took is known now, and new places at each would begin all hosts one after the other.
 */
export class PackingChance implements Chance {
  readonly #chance: Chance;
  #places: number[] = [];
  #turn = 0;

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
    const places = Math.max(1, Math.min(PLACES_MAX, Math.floor((end - first) / HOSTS_PER_PLACE)));
    const place = Math.floor(this.#turn++ / TURN) % places;
    const fine = (this.#places[place] ??= this.#chance.below(FINE));
    return Math.floor((fine / FINE) * bound);
  }

  part(bound: number): Stretch | null {
    return this.#chance.part?.(bound) ?? null;
  }

  moveOn(): void {
    this.#places = [];
  }
}

/** How a scheduler of the score searches: one that packs at few places in its own part, any other anywhere. */
export function chanceFor(score: ScoreName, random: Chance, ownPart: () => Part): Chance | PackingChance {
  // Who levels the load, or takes any host, must look at all of them alike.
  const packs = score === 'binpack' || score === 'fgd';
  return packs ? new PackingChance(chanceInPart(random, ownPart)) : random;
}

/** Places are kept as parts of the whole, finer than there are hosts. */
const FINE = 2 ** 30;
