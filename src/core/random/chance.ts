/** The part of a random source that placement needs; any `Random` port is one. */
export interface Chance {
  /** Uniform in [0, 1). */
  fraction(): number;
  /** Uniform whole number in [0, bound). */
  below(bound: number): number;
  /** Where among `bound` hosts a search begins; absent: anywhere. */
  start?(bound: number): number;
  /** The stretch that a search which begins in it tries before all other hosts; null: none. */
  part?(bound: number): Stretch | null;
}

/** Always 0: for what only asks whether there is a place. */
export const NO_CHANCE: Chance = { fraction: () => 0, below: () => 0 };

/** From `first` to before `end`. */
export interface Stretch {
  readonly first: number;
  readonly end: number;
}
