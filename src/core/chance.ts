/** The part of a random source that placing needs; any `Random` port is one. */
export interface Chance {
  /** Uniform in [0, 1). */
  fraction(): number;
  /** Uniform whole number in [0, bound). */
  below(bound: number): number;
  /** Where in a row of so many hosts a search begins; without it, anywhere. */
  start?(bound: number): number;
}
