import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { JsonError, parseStrictJson } from '../../../../src/core/json/json.ts';

const WIDE = { depthMax: 1_000, keysMax: 1_000 };

describe('parseStrictJson', () => {
  it('reads whatever JSON there is as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(0, 1, 2), (value, spaces) => {
        const text = JSON.stringify(value, null, spaces);
        fc.pre(!text.includes('"__proto__"'));
        expect(parseStrictJson(text, WIDE)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('refuses a key that comes twice, in any spelling', () => {
    for (const text of [
      '{"a":1,"a":2}',
      '{"a":1,"\\u0061":2}',
      '[{"x":{"k":[],"k":1}}]',
      '{"a" : 1 , "a"\n:2}',
    ])
      expect(() => parseStrictJson(text)).toThrow('twice');
  });

  it('does not take equal texts for equal keys where they are none', () => {
    for (const text of [
      '{"a":"a","b":"a"}',
      '[{"a":1},{"a":1}]',
      '{"a":{"a":{"a":1}}}',
      '{"a":["b","b"]}',
      '{"a\\"":1,"a":2}',
    ])
      expect(parseStrictJson(text)).toEqual(JSON.parse(text));
  });

  it('refuses __proto__ as a key, and lets it be as a text', () => {
    expect(() => parseStrictJson('{"__proto__":1}')).toThrow(JsonError);
    expect(() => parseStrictJson('{"\\u005f_proto__":1}')).toThrow(JsonError);
    expect(parseStrictJson('["__proto__"]')).toEqual(['__proto__']);
  });

  it('refuses more depth and more keys than allowed, and takes exactly as much', () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
    const wide = (keys: number): string =>
      `{${Array.from({ length: keys }, (_, n) => `"k${String(n)}":0`).join()}}`;
    expect(() => parseStrictJson(nested(16))).not.toThrow();
    expect(() => parseStrictJson(nested(17))).toThrow('deeper');
    expect(() => parseStrictJson(wide(512))).not.toThrow();
    expect(() => parseStrictJson(wide(513))).toThrow('more than 512 keys');
    expect(() => parseStrictJson(nested(100_000))).toThrow(JsonError);
  });

  it('refuses a byte order mark and what is no JSON', () => {
    for (const text of ['\ufeff{}', '', '{', '{a:1}', "{'a':1}", '[1,]', 'NaN'])
      expect(() => parseStrictJson(text)).toThrow(JsonError);
  });
});

it.each(['1e999', '-1E+400', '9'.repeat(400), '{"a":[1,{"b":1e309}]}'])(
  'S4.13 a number beyond all that a number holds, %.20s, is refused',
  (text) => {
    expect(() => parseStrictJson(text)).toThrow(new JsonError('a number is too large'));
  },
);

it('numbers with an exponent, or many digits, are taken where they are numbers', () => {
  const text = `[1e3, 1E-999, -2.5e+10, ${'1'.repeat(305)}, "1e999"]`;
  expect(parseStrictJson(text)).toEqual(JSON.parse(text));
});
