import type { Chance } from '../src/core/chance.ts';

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
 * each begins in a part of its own, and they reach for the same host only where a part is full and the search runs on
 * into the next one. Every host stays within everybody's reach.
 *
 * Hosts that joined while only some of the schedulers ran lie elsewhere in the others' order: there two may meet, as they
 * would without this, and one of them loses a conflict.
 */
export function chanceInPart(chance: Chance, ownPart: () => Part): Chance {
  return {
    fraction: () => chance.fraction(),
    below: (bound) => {
      const { part, parts } = ownPart();
      if (parts <= 1 || bound < parts * DIVIDE_MIN) return chance.below(bound);
      const first = Math.floor((bound * part) / parts);
      const end = Math.floor((bound * (part + 1)) / parts);
      return first + chance.below(end - first);
    },
  };
}
