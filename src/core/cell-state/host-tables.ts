/** The table with a length of at least `size`: doubled, so that it grows in few steps. */
export function widened<T extends Uint8Array | Int32Array | Uint32Array | Float64Array>(
  table: T,
  size: number,
): T {
  if (size <= table.length) return table;
  const wider = new (table.constructor as new (length: number) => T)(Math.max(size, 2 * table.length));
  wider.set(table);
  return wider;
}

/** A count for each host, with a `clear` that costs nothing, for decisions that count few hosts of a large cell. */
export class HostTally {
  /** For each host: the round that last counted it, and its count in that round. */
  #counts = new Uint32Array(2);
  #round = 0;
  #isEmpty = true;

  clear(): void {
    this.#isEmpty = true;
    this.#round += 1;
    if (this.#round <= ROUND_MAX) return;
    this.#counts.fill(0);
    this.#round = 1;
  }

  add(host: number): void {
    this.#isEmpty = false;
    this.#counts = widened(this.#counts, 2 * (host + 1));
    const at = 2 * host;
    const counts = this.#counts;
    counts[at + 1] = counts[at] === this.#round ? counts[at + 1]! + 1 : 1;
    counts[at] = this.#round;
  }

  of(host: number): number {
    if (this.#isEmpty) return 0;
    return this.#counts[2 * host] === this.#round ? this.#counts[2 * host + 1]! : 0;
  }
}

const ROUND_MAX = 0xffff_ffff;
