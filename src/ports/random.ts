/** The only source of randomness for roles; seeded in the simulator and in tests. */
export interface Random {
  /** Uniform in [0, 1). */
  fraction(): number;
  /** Uniform whole number in [0, bound). */
  below(bound: number): number;
  bytes(count: number): Uint8Array;
}
