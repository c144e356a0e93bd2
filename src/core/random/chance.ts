/** The part of a random source that placing needs; any `Random` port is one. */
export interface Chance {
  /** Uniform in [0, 1). */
  fraction(): number;
  /** Uniform whole number in [0, bound). */
  below(bound: number): number;
  /** Where in a row of so many hosts a search begins; without it, anywhere. */
  start?(bound: number): number;
  /** The stretch of such a row that a search which begins there goes through before the rest; null: none comes first. */
  part?(bound: number): Stretch | null;
}

/** Always the first: for what only asks whether there is a place. */
export const NO_CHANCE: Chance = { fraction: () => 0, below: () => 0 };

/** From `first` to before `end`. */
export interface Stretch {
  readonly first: number;
  readonly end: number;
}
