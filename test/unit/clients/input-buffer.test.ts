import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InputBuffer } from '../../../src/clients/input-buffer.ts';

const step = fc.oneof(
  fc.record({ kind: fc.constant('write' as const), bytes: fc.uint8Array({ maxLength: 20 }) }),
  fc.record({ kind: fc.constant('taken' as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
);

describe('input that is held', () => {
  it('S2.4 S2.5 S2.10 whatever was taken so far, the rest can be read again, byte for byte', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.integer({ min: 1, max: 9 }), (steps, length) => {
        const buffer = new InputBuffer(1_000_000);
        const all: number[] = [];
        for (const one of steps) {
          if (one.kind === 'write') {
            void buffer.write(one.bytes);
            all.push(...one.bytes);
          } else {
            buffer.taken(buffer.start + Math.floor(one.share * (buffer.end - buffer.start)));
          }
          const read: number[] = [];
          for (let at = buffer.start; at < buffer.end;) {
            const bytes = buffer.read(at, length);
            expect(bytes.length).toBeGreaterThan(0);
            read.push(...bytes);
            at += bytes.length;
          }
          expect(read).toEqual(all.slice(buffer.start));
          expect(buffer.end).toBe(all.length);
        }
      }),
    );
  });

  it('S2.5 whoever writes more than it holds waits until some was taken', async () => {
    const buffer = new InputBuffer(10);
    await buffer.write(new Uint8Array(10));
    let written = false;
    const more = buffer.write(new Uint8Array(1)).then(() => (written = true));
    await Promise.resolve();
    expect(written).toBe(false);
    buffer.taken(1);
    await more;
    expect(written).toBe(true);
  });

  it('lets go of who waits when nobody reads any more', async () => {
    const buffer = new InputBuffer(1);
    const waiting = buffer.write(new Uint8Array(5));
    buffer.drop();
    await waiting;
    expect(buffer.ended).toBe(true);
  });
});
