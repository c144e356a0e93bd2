/**
 * A deterministic generator (xoshiro128**, seeded through splitmix32), for simulations, benches and tests. It satisfies
 * the random port, and `Chance` in `chance.ts`, the part of it that placement needs.
 */
export interface SeededRandom {
  /** Uniform in [0, 1), 53 bits. */
  fraction(): number;
  /** Uniform whole number in [0, bound); `bound` is a whole number from 1. */
  below(bound: number): number;
  bytes(count: number): Uint8Array;
  /**
   * An independent generator for `label`. It depends on the seed and the label alone, not on earlier draws, so a draw
   * added to one part of a simulation does not change another.
   */
  split(label: string): SeededRandom;
}

/** @param seed any number; only its low 53 bits count */
export function seededRandom(seed: number): SeededRandom {
  return fromWords(seed >>> 0, Math.floor(Math.abs(seed) / TWO_32) >>> 0);
}

const TWO_32 = 0x1_0000_0000;
const GOLDEN = 0x9e37_79b9;

function fromWords(low: number, high: number): SeededRandom {
  const next = xoshiro(low, high);

  function fraction(): number {
    return ((next() >>> 5) * 0x400_0000 + (next() >>> 6)) / 0x20_0000_0000_0000;
  }

  function below(bound: number): number {
    if (!Number.isSafeInteger(bound) || bound < 1)
      throw new Error(`bound ${String(bound)} is no whole number from 1`);
    if (bound > TWO_32) return Math.floor(fraction() * bound);
    for (;;) {
      const drawn = next();
      // Draws from the last, incomplete multiple of the bound would favour small numbers. The first test spares most draws
      // the division.
      if (drawn < TWO_32 - bound || drawn < TWO_32 - (TWO_32 % bound)) return drawn % bound;
    }
  }

  function bytes(count: number): Uint8Array {
    const result = new Uint8Array(count);
    for (let i = 0; i < count; i++) result[i] = next() >>> 24;
    return result;
  }

  function split(label: string): SeededRandom {
    return fromWords(labelHash(label, low), labelHash(label, high ^ GOLDEN));
  }

  return { fraction, below, bytes, split };
}

/** @returns a function that gives the next uniform 32 bits */
function xoshiro(low: number, high: number): () => number {
  const seeds = splitmix((mix(low) ^ high) >>> 0);
  let [a, b, c, d] = [seeds(), seeds() ^ high, seeds(), seeds() | 1];
  return () => {
    const result = Math.imul(rotate(Math.imul(b, 5), 7), 9) >>> 0;
    const t = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= t;
    d = rotate(d, 11);
    return result;
  };
}

function splitmix(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + GOLDEN) | 0;
    return mix(state);
  };
}

function mix(word: number): number {
  let z = word ^ (word >>> 16);
  z = Math.imul(z, 0x21f0_aaad);
  z ^= z >>> 15;
  z = Math.imul(z, 0x735a_2d97);
  return (z ^ (z >>> 15)) >>> 0;
}

function rotate(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by));
}

/** FNV-1a over the label's UTF-16 units, begun from the seed. */
function labelHash(label: string, seed: number): number {
  let hash = (0x811c_9dc5 ^ mix(seed)) >>> 0;
  for (let i = 0; i < label.length; i++) hash = Math.imul(hash ^ label.charCodeAt(i), 0x0100_0193);
  return mix(hash);
}
