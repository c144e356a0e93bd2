import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InputBuffer } from '../../../src/clients/input-buffer.ts';

/** Many bytes are more than one block of what is held. */
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 20 }),
  fc
    .tuple(fc.integer({ min: 30_000, max: 70_000 }), fc.nat(255))
    .map(([length, first]) => Uint8Array.from({ length }, (_, n) => (first + n) % 251)),
);

const step = fc.oneof(
  fc.record({ kind: fc.constant('write' as const), bytes }),
  fc.record({ kind: fc.constant('taken' as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
);

describe('input that is held', () => {
  it('S2.4 S2.5 S2.10 whatever was taken so far, the rest can be read again, byte for byte', () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 12 }),
        fc.integer({ min: 999, max: 70_000 }),
        (steps, length) => {
          const buffer = new InputBuffer(10_000_000);
          let all = Buffer.alloc(0);
          for (const one of steps) {
            if (one.kind === 'write') {
              void buffer.write(one.bytes);
              all = Buffer.concat([all, one.bytes]);
            } else {
              buffer.confirm(buffer.start + Math.floor(one.share * (buffer.end - buffer.start)));
            }
            const read: Uint8Array[] = [];
            for (let at = buffer.start; at < buffer.end;) {
              const bytes = buffer.read(at, length);
              expect(bytes.length).toBeGreaterThan(0);
              read.push(bytes);
              at += bytes.length;
            }
            expect(Buffer.concat(read).equals(all.subarray(buffer.start))).toBe(true);
            expect(buffer.end).toBe(all.length);
          }
        },
      ),
    );
  });

  it('S2.5 a writer of more than it holds waits until some was confirmed', async () => {
    const buffer = new InputBuffer(10);
    await buffer.write(new Uint8Array(10));
    let written = false;
    const more = buffer.write(new Uint8Array(1)).then(() => (written = true));
    await Promise.resolve();
    expect(written).toBe(false);
    buffer.confirm(1);
    await more;
    expect(written).toBe(true);
  });

  it('releases waiting writers when the input is no longer read', async () => {
    const buffer = new InputBuffer(1);
    const waiting = buffer.write(new Uint8Array(5));
    buffer.drop();
    await waiting;
    expect(buffer.ended).toBe(true);
  });
});
