import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { canonicalJson } from '../../../../src/core/json/canonical-json.ts';

/** The same value with its keys in another order. */
function shuffled(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(shuffled);
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, item]) => [key, shuffled(item)]),
  );
}

describe('canonicalJson', () => {
  it('has one text for one value, whatever the order of its keys and however it travelled', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = canonicalJson(value);
        expect(canonicalJson(shuffled(value))).toBe(text);
        expect(canonicalJson(JSON.parse(JSON.stringify(value)))).toBe(text);
        expect(canonicalJson(JSON.parse(text))).toBe(text);
      }),
    );
  });

  it('sorts keys, leaves out what is undefined, and has no spaces', () => {
    expect(canonicalJson({ b: [1, undefined, 'x'], a: undefined, A: -0, c: { z: null, y: true } })).toBe(
      '{"A":0,"b":[1,null,"x"],"c":{"y":true,"z":null}}',
    );
  });

  it('quotes every text as JSON does', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(canonicalJson(text)).toBe(JSON.stringify(text));
        expect(canonicalJson({ [text]: text })).toBe(JSON.stringify(Object.fromEntries([[text, text]])));
      }),
    );
    for (const text of ['"', '\\', '\u007f', '\u2028', '\ud800', '\n', ' ~!#[]'])
      expect(canonicalJson(text)).toBe(JSON.stringify(text));
  });

  it('refuses what JSON would change silently', () => {
    for (const value of [NaN, Infinity, 1n, () => 1, undefined, { a: NaN }])
      expect(() => canonicalJson(value)).toThrow('no canonical JSON');
  });
});
