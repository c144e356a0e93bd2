/**
 * What is free on a host, as a row of eight numbers. A tree stores them in 32 bits, so that two children share a cache
 * line; larger amounts show as `AMOUNT_MAX`. A host that takes no work has `NOTHING` everywhere: less than any task needs.
 */
export const ROW = 8;
/** 2 PiB of disk: more than a host has of anything. */
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
/** 1 for a host that takes work, else 0: in the rows of the cell only. */
export const TAKES = 7;

/** Rows of the cell's table, or of a tree. */
export type Rows = Float64Array | Int32Array;

const DIMENSIONS = 7;
const NOTHING = -1;
const LEAVES_MIN = 16;
/** Steps of interpolation, which take log log n where indices are random; after them bisection ends the search. */
const INTERPOLATED_MAX = 6;

/**
 * A tournament tree of the largest free amounts: a search skips every subtree in which no host can have enough. The
 * maxima of several dimensions may come from different hosts, so a subtree may still hold no fitting host; the search
 * continues behind it and misses none.
 *
 * Hosts lie in the order of their indices, which is random (`CellIndex`). So the next k fitting hosts from a random start
 * are a fair sample of all that fit, and lie side by side in memory.
 */
export class CapacityTree {
  #leaves = LEAVES_MIN;
  #size = 0;
  /** Node n has children 2n and 2n + 1; the leaves come last. */
  #values = new Int32Array(2 * LEAVES_MIN * ROW).fill(NOTHING);
  readonly #members: Members | null;

  /** @param hosts indices of the hosts in the tree; null: all below `size`, each at its own index */
  constructor(hosts: readonly number[] | null = null) {
    this.#members = hosts === null ? null : new Members(hosts);
    if (hosts !== null) this.resize(hosts.length);
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
    return this.#members === null ? position : this.#members.at(position);
  }

  /** Grows or shrinks to `size` positions. A new host has nothing free until `update`. */
  resize(size: number): void {
    while (this.#leaves < size) this.#grow();
    for (let position = size; position < this.#size; position++) this.#clear(position);
    this.#size = size;
  }

  /**
   * Sets what is free on the host to the row of `rows` at `offset`. Ignores a host that is not in the tree.
   * @param isShown false: no search is to find it
   */
  update(host: number, rows: Float64Array, offset: number, isShown = true): void {
    const position = this.#members === null ? host : this.#members.positionOf(host);
    if (position < 0 || position >= this.#size) return;
    const values = this.#values;
    const leaf = this.offsetOf(position);
    const takes = isShown && rows[offset + TAKES] === 1;
    let changed = false;
    for (let i = 0; i < DIMENSIONS; i++) {
      const free = takes ? rows[offset + i]! : NOTHING;
      const shown = free > AMOUNT_MAX ? AMOUNT_MAX : free;
      if (values[leaf + i] === shown) continue;
      values[leaf + i] = shown;
      changed = true;
    }
    if (changed) this.#climb(this.#leaves + position);
  }

  /** False: no host has enough. True: one may have. */
  mayHold(need: Float64Array): boolean {
    return this.#shows(ROW, need);
  }

  /** Does the host at the position show all of `need`? */
  shows(position: number, need: Float64Array): boolean {
    return this.#shows(this.offsetOf(position), need);
  }

  /** The first position from `from` on whose host shows all of `need`; −1: none up to the end. */
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

  #shows(row: number, need: Float64Array): boolean {
    for (let i = 0; i < DIMENSIONS; i++)
      if (this.#values[row + i]! < Math.min(need[i]!, AMOUNT_MAX)) return false;
    return true;
  }

  /** Carries a leaf's change up as far as it changes a maximum: two levels on average. */
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

  #clear(position: number): void {
    const leaf = this.offsetOf(position);
    this.#values.fill(NOTHING, leaf, leaf + ROW);
    this.#climb(this.#leaves + position);
  }

  #grow(): void {
    const before = this.#values.subarray(this.#leaves * ROW);
    this.#leaves *= 2;
    this.#values = new Int32Array(2 * this.#leaves * ROW).fill(NOTHING);
    this.#values.set(before, this.#leaves * ROW);
    for (let position = 0; position < this.#size; position++) this.#climb(this.#leaves + position);
  }
}

/** Some of the hosts, in order of index. Indices are random numbers, so interpolation search finds one without a table. */
class Members {
  readonly #hosts: Int32Array;

  constructor(hosts: readonly number[]) {
    this.#hosts = Int32Array.from(hosts).sort();
  }

  at(position: number): number {
    return this.#hosts[position] ?? -1;
  }

  /** −1 when the host is none of them. */
  positionOf(host: number): number {
    const hosts = this.#hosts;
    let low = 0;
    let high = hosts.length - 1;
    for (let steps = 0; low <= high; steps++) {
      const first = hosts[low]!;
      const last = hosts[high]!;
      if (host < first || host > last) return -1;
      const part = first === last || steps > INTERPOLATED_MAX ? 0.5 : (host - first) / (last - first);
      const guess = low + Math.floor(part * (high - low));
      const there = hosts[guess]!;
      if (there === host) return guess;
      if (there < host) low = guess + 1;
      else high = guess - 1;
    }
    return -1;
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
