import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ndjson, NdjsonError, ndjsonLine, NdjsonParser } from '../../../../src/core/json/ndjson.ts';

describe('NdjsonParser', () => {
  it('S2.12 reads the same values however the bytes are cut into chunks', () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue(), { maxLength: 20 }),
        fc.infiniteStream(fc.integer({ min: 1, max: 9 })),
        (values, sizes) => {
          const bytes = Buffer.from(values.map(ndjsonLine).join('\n'));
          const parser = new NdjsonParser();
          const read: unknown[] = [];
          for (let at = 0; at < bytes.length;) {
            const size = Number(sizes.next().value);
            read.push(...parser.push(bytes.subarray(at, at + size)));
            at += size;
          }
          expect(read).toEqual(JSON.parse(JSON.stringify(values)));
        },
      ),
    );
  });

  it('refuses a line over the bound, and text that is no JSON', () => {
    expect(() => new NdjsonParser(10).push(Buffer.from('"0123456789'))).toThrow(NdjsonError);
    expect(() => new NdjsonParser().push(Buffer.from('{]\n'))).toThrow(NdjsonError);
    expect(() => new NdjsonParser().push(Uint8Array.of(0xff, 0x0a))).toThrow(NdjsonError);
  });

  it('drops a last line without its end: a cut message', async () => {
    async function* chunks() {
      yield Buffer.from('{"a":1}\n{"a":');
    }
    const values: unknown[] = [];
    for await (const value of ndjson(chunks())) values.push(value);
    expect(values).toEqual([{ a: 1 }]);
  });
});
