/**
 * What is free on a host, as a row of eight numbers. In a tree they have 32 bits, so that two children lie in one cache line;
 * what is larger than `AMOUNT_MAX` shows as that. A host that takes no work has `NOTHING` in every place: less than any
 * task needs.
 */
export const ROW = 8;
/** 2 PiB of disk: no host has more of anything that a task may ask for. */
export const AMOUNT_MAX = 0x7fff_ffff;
export const CPU = 0;
export const MEMORY = 1;
export const DISK = 2;
/** Thousandths free over all devices; on the emptiest device; devices wholly free. */
export const GPU_TOTAL = 3;
export const GPU_LARGEST = 4;
export const GPU_WHOLE = 5;
/** Ports free in the host's range. */
export const PORTS = 6;

const DIMENSIONS = 7;
const NOTHING = -1;
const LEAVES_MIN = 16;

/**
 * Hosts in a random order, below a tournament of the largest free amounts: a search walks along the order and steps
 * over every subtree in which no host can have enough. The maxima of several dimensions may come from different hosts,
 * so a subtree that is entered may still hold none; the search goes on behind it, and none is missed.
 *
 * The order is random so that neighbours have nothing in common: the next k fitting hosts from a random start are a
 * fair sample of all that fit, and lie side by side in memory.
 */
export class CapacityTree {
  #leaves = LEAVES_MIN;
  #size = 0;
  #at = new Int32Array(LEAVES_MIN);
  readonly #positions: Positions;
  /** Node n has children 2n and 2n + 1; the leaves come last. */
  #values = new Int32Array(2 * LEAVES_MIN * ROW).fill(NOTHING);
  #shuffle = 1;

  /** @param positions where the positions of hosts are kept: `ManyHosts` for nearly all of a cell, else `FewHosts` */
  constructor(positions: Positions) {
    this.#positions = positions;
  }

  get size(): number {
    return this.#size;
  }

  /** The rows of all nodes; the row of the host at a position begins at `offsetOf`. Read only. */
  get values(): Int32Array {
    return this.#values;
  }

  offsetOf(position: number): number {
    return (this.#leaves + position) * ROW;
  }

  hostAt(position: number): number {
    return this.#at[position] ?? 0;
  }

  has(host: number): boolean {
    return this.#positions.get(host) >= 0;
  }

  /** Adds a host that is not in the tree, with nothing free; `update` says what it has. */
  add(host: number): void {
    if (this.#size === this.#leaves) this.#grow();
    const last = this.#size++;
    const position = this.#below(last + 1);
    if (position !== last) this.#move(position, last);
    this.#at[position] = host;
    this.#positions.set(host, position);
    this.#clear(position);
  }

  remove(host: number): void {
    const position = this.#positions.get(host);
    if (position < 0) return;
    this.#positions.delete(host);
    const last = --this.#size;
    if (position !== last) this.#move(last, position);
    this.#clear(last);
  }

  /** Sets what is free on the host: the row of `rows` that begins at `offset`, or nothing at all. */
  update(host: number, rows: Float64Array, offset: number, takesWork: boolean): void {
    const position = this.#positions.get(host);
    if (position < 0) return;
    const values = this.#values;
    const leaf = this.offsetOf(position);
    let changed = false;
    for (let i = 0; i < DIMENSIONS; i++) {
      const free = takesWork ? rows[offset + i]! : NOTHING;
      const shown = free > AMOUNT_MAX ? AMOUNT_MAX : free;
      if (values[leaf + i] === shown) continue;
      values[leaf + i] = shown;
      changed = true;
    }
    if (changed) this.#climb(this.#leaves + position);
  }

  /** The first position from `from` on whose host shows all of `need` free; −1 when there is none up to the end. */
  seek(from: number, need: Float64Array): number {
    if (from >= this.#leaves) return -1;
    const values = this.#values;
    const cpu = need[CPU]!;
    const memory = need[MEMORY]!;
    const disk = Math.min(need[DISK]!, AMOUNT_MAX);
    const more = needsMore(need);
    let node = this.#leaves + from;
    for (;;) {
      const row = node * ROW;
      const fits =
        values[row]! >= cpu &&
        values[row + MEMORY]! >= memory &&
        values[row + DISK]! >= disk &&
        (!more || fitsMore(values, row, need));
      if (fits) {
        if (node >= this.#leaves) return node - this.#leaves;
        node *= 2;
        continue;
      }
      while ((node & 1) === 1) node >>= 1;
      if (node === 0) return -1;
      node += 1;
    }
  }

  /** Carries a leaf's change up as far as it changes a maximum: two levels on average, as most are not the largest. */
  #climb(leaf: number): void {
    const values = this.#values;
    for (let node = leaf >> 1; node >= 1; node >>= 1) {
      const row = node * ROW;
      const left = row * 2;
      let changed = false;
      for (let i = 0; i < DIMENSIONS; i++) {
        const a = values[left + i]!;
        const b = values[left + ROW + i]!;
        const largest = a > b ? a : b;
        if (values[row + i] !== largest) {
          values[row + i] = largest;
          changed = true;
        }
      }
      if (!changed) return;
    }
  }

  #move(from: number, to: number): void {
    const host = this.hostAt(from);
    this.#at[to] = host;
    this.#positions.set(host, to);
    this.#values.copyWithin(this.offsetOf(to), this.offsetOf(from), this.offsetOf(from) + ROW);
    this.#climb(this.#leaves + to);
  }

  #clear(position: number): void {
    const leaf = this.offsetOf(position);
    this.#values.fill(NOTHING, leaf, leaf + ROW);
    this.#climb(this.#leaves + position);
  }

  #grow(): void {
    const before = this.#values.subarray(this.#leaves * ROW);
    const at = this.#at;
    this.#leaves *= 2;
    this.#at = new Int32Array(this.#leaves);
    this.#at.set(at);
    this.#values = new Int32Array(2 * this.#leaves * ROW).fill(NOTHING);
    this.#values.set(before, this.#leaves * ROW);
    for (let position = 0; position < this.#size; position++) this.#climb(this.#leaves + position);
  }

  /** The order only has to be unrelated to anything; the same inserts give the same order (Numerical Recipes' LCG). */
  #below(bound: number): number {
    this.#shuffle = (Math.imul(this.#shuffle, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#shuffle / 4_294_967_296) * bound);
  }
}

/** Position by host index; −1: none. */
export interface Positions {
  get(host: number): number;
  set(host: number, position: number): void;
  delete(host: number): void;
}

export class ManyHosts implements Positions {
  #positions = new Int32Array(LEAVES_MIN).fill(-1);

  get(host: number): number {
    return this.#positions[host] ?? -1;
  }

  set(host: number, position: number): void {
    if (host >= this.#positions.length) {
      const wider = new Int32Array(2 * host).fill(-1);
      wider.set(this.#positions);
      this.#positions = wider;
    }
    this.#positions[host] = position;
  }

  delete(host: number): void {
    this.set(host, -1);
  }
}

export class FewHosts implements Positions {
  readonly #positions = new Map<number, number>();

  get(host: number): number {
    return this.#positions.get(host) ?? -1;
  }

  set(host: number, position: number): void {
    this.#positions.set(host, position);
  }

  delete(host: number): void {
    this.#positions.delete(host);
  }
}

function needsMore(need: Float64Array): boolean {
  return need[GPU_TOTAL]! > 0 || need[PORTS]! > 0;
}

function fitsMore(values: Int32Array, row: number, need: Float64Array): boolean {
  return (
    values[row + GPU_TOTAL]! >= need[GPU_TOTAL]! &&
    values[row + GPU_LARGEST]! >= need[GPU_LARGEST]! &&
    values[row + GPU_WHOLE]! >= need[GPU_WHOLE]! &&
    values[row + PORTS]! >= need[PORTS]!
  );
}
