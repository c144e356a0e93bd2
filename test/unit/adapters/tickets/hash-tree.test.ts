import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { HashTree, leafOf, rootOver } from '../../../../src/adapters/tickets/hash-tree.ts';

/** MTH of RFC 9162, section 2.1.1, as it is written there: split at the largest power of two below the size. */
function rootByDefinition(leaves: readonly string[]): Buffer {
  const sha256 = (...parts: readonly (Buffer | string)[]): Buffer =>
    parts.reduce((made, part) => made.update(part), createHash('sha256')).digest();
  if (leaves.length === 1) return sha256('\u0000', leaves[0]!);
  let left = 1;
  while (left * 2 < leaves.length) left *= 2;
  return sha256('\u0001', rootByDefinition(leaves.slice(0, left)), rootByDefinition(leaves.slice(left)));
}

const texts = (count: number): string[] => Array.from({ length: count }, (_, n) => `leaf ${String(n)}`);
const treeOf = (leaves: readonly string[]): HashTree => new HashTree(leaves.map(leafOf));

describe('HashTree', () => {
  it('its root is the one that RFC 9162 defines, and every leaf has a path to it', () => {
    for (let count = 1; count <= 70; count++) {
      const leaves = texts(count);
      const tree = treeOf(leaves);
      expect(tree.root).toEqual(rootByDefinition(leaves));
      for (const [at, leaf] of leaves.entries())
        expect(rootOver(leafOf(leaf), at, count, tree.path(at))).toEqual(tree.root);
    }
  });

  it('a leaf leads to the root from its own position alone, and by its own path alone', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 300 }).chain((count) =>
          fc.record({
            count: fc.constant(count),
            at: fc.nat(count - 1),
            other: fc.nat(count + 40),
            flip: fc.nat(),
            cut: fc.integer({ min: 1, max: 64 }),
          }),
        ),
        ({ count, at, other, flip, cut }) => {
          const tree = treeOf(texts(count));
          const leaf = leafOf(`leaf ${String(at)}`);
          const path = tree.path(at);
          const leads = (one: Buffer, position: number, leaves: number, way: Buffer): boolean =>
            rootOver(one, position, leaves, way)?.equals(tree.root) === true;
          expect(leads(leaf, at, count, path)).toBe(true);
          if (other !== at) {
            expect(leads(leaf, other, count, path)).toBe(false);
            if (other < count) expect(leads(leaf, at, count, tree.path(other))).toBe(false);
          }
          expect(leads(leafOf('no leaf'), at, count, path)).toBe(false);
          expect(leads(leaf, at, count, Buffer.concat([path, Buffer.alloc(cut)]))).toBe(false);
          if (path.length === 0) return;
          expect(leads(leaf, at, count, path.subarray(0, Math.max(0, path.length - cut)))).toBe(false);
          const altered = Buffer.from(path);
          altered[flip % path.length]! ^= 1 << (flip % 8);
          expect(leads(leaf, at, count, altered)).toBe(false);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('an inner node is no leaf: two hashes that were hashed together prove nothing as a text', () => {
    const tree = treeOf(texts(4));
    const [first, second] = texts(2).map(leafOf) as [Buffer, Buffer];
    const inner = Buffer.concat([first, second]).toString('latin1');
    expect(rootOver(leafOf(inner), 0, 2, tree.path(0).subarray(32))?.equals(tree.root)).toBe(false);
    // Whereas the node itself would lead there.
    const parent = rootOver(first, 0, 2, second)!;
    expect(rootOver(parent, 0, 2, tree.path(0).subarray(32))).toEqual(tree.root);
  });

  it('no position beyond the leaves has a path', () => {
    const tree = treeOf(texts(3));
    for (const at of [3, 4, 7, 1_000_000]) expect(rootOver(leafOf('leaf 2'), at, 3, tree.path(2))).toBeNull();
  });
});
