import fc from 'fast-check';
import { expect, test } from 'vitest';
import { editDistance, nearest } from '../../../../src/wire/values/suggest.ts';

test('a slip finds its word, a different word finds none', () => {
  expect(nearest('comand', ['command', 'count'])).toBe('command');
  expect(nearest('cuont', ['command', 'count'])).toBe('count');
  expect(nearest('zebra', ['command', 'count'])).toBeNull();
});

test('the distance is 0 for equal words, the same both ways, and never more than the longer word', () => {
  const word = fc.string({ maxLength: 8 });
  fc.assert(
    fc.property(word, word, (a, b) => {
      expect(editDistance(a, a, 99)).toBe(0);
      expect(editDistance(a, b, 99)).toBe(editDistance(b, a, 99));
      expect(editDistance(a, b, 99)).toBeLessThanOrEqual(Math.max(a.length, b.length));
    }),
  );
});
