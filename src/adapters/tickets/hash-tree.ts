import { hash } from 'node:crypto';

/**
 * A Merkle tree in the shape of RFC 9162 (Certificate Transparency), over texts: one hash, the root, stands for all of them,
 * and each proves by its position and a hash from each level that it belongs to the root. Leaves and inner nodes are hashed
 * with different first bytes, so that neither can be taken for the other. A node without a neighbour goes up as it is.
 */

const HASH_BYTES = 32;
const LEAF = '\u0000';
const NODE = 1;

export class HashTree {
  /** The leaves, then the level above, up to the root alone. */
  readonly #levels: readonly (readonly Buffer[])[];

  /** @param leaves made by `leafOf`; at least one */
  constructor(leaves: readonly Buffer[]) {
    const levels = [leaves];
    const pair = Buffer.alloc(1 + 2 * HASH_BYTES, NODE);
    for (let level = leaves; level.length > 1; levels.push(level)) level = levelAbove(level, pair);
    this.#levels = levels;
  }

  get root(): Buffer {
    return this.#levels.at(-1)![0]!;
  }

  /** The neighbours on the way from the leaf up to the root. */
  path(position: number): Buffer {
    const neighbours: Buffer[] = [];
    let at = position;
    for (const level of this.#levels) {
      const neighbour = level[at ^ 1];
      if (neighbour !== undefined) neighbours.push(neighbour);
      at >>>= 1;
    }
    return Buffer.concat(neighbours);
  }
}

export function leafOf(text: string): Buffer {
  return hash('sha256', LEAF + text, 'buffer');
}

/**
 * @param count how many leaves the tree has
 * @returns the root to which the path leads; null: there is no such position, or its path has another length
 */
export function rootOver(leaf: Buffer, position: number, count: number, path: Buffer): Buffer | null {
  if (position >= count) return null;
  const pair = Buffer.alloc(1 + 2 * HASH_BYTES, NODE);
  let node = leaf;
  let used = 0;
  let at = position;
  for (let size = count; size > 1; size = (size + 1) >>> 1, at >>>= 1) {
    if ((at ^ 1) >= size) continue;
    const neighbour = path.subarray(used, (used += HASH_BYTES));
    if (neighbour.length < HASH_BYTES) return null;
    node = at % 2 === 0 ? parentOf(node, neighbour, pair) : parentOf(neighbour, node, pair);
  }
  return used === path.length ? node : null;
}

function levelAbove(level: readonly Buffer[], pair: Buffer): readonly Buffer[] {
  const above: Buffer[] = [];
  for (let at = 0; at < level.length; at += 2) {
    const right = level[at + 1];
    above.push(right === undefined ? level[at]! : parentOf(level[at]!, right, pair));
  }
  return above;
}

/** @param pair room for what is hashed, used again and again; its first byte says that this is no leaf */
function parentOf(left: Buffer, right: Buffer, pair: Buffer): Buffer {
  left.copy(pair, 1);
  right.copy(pair, 1 + HASH_BYTES);
  return hash('sha256', pair, 'buffer');
}
