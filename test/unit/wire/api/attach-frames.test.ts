import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ClientFrame, HostFrame } from '../../../../src/wire/api/attach-frames.ts';
import {
  decodeClientFrame,
  decodeHostFrame,
  encodeClientFrame,
  encodeHostFrame,
  INPUT_REFUSALS,
} from '../../../../src/wire/api/attach-frames.ts';

const offset = fc.nat(2 ** 31).map((n) => n * 1_000);
const bytes = fc.uint8Array({ maxLength: 200 });
const text = fc.string({ maxLength: 20 });
const size = fc.integer({ min: 0, max: 65_535 });

const clientFrames: fc.Arbitrary<ClientFrame> = fc.oneof(
  fc.record({ kind: fc.constant('input' as const), offset, bytes }),
  fc.record({ kind: fc.constant('end-input' as const), offset }),
  fc.record({ kind: fc.constant('resize' as const), rows: size, columns: size }),
  fc.record({
    kind: fc.constant('signal' as const),
    order: fc.record({ commandId: text, signal: text }),
  }),
);

const hostFrames: fc.Arbitrary<HostFrame> = fc.oneof(
  fc.record({
    kind: fc.constant('output' as const),
    stream: fc.constantFrom('stdout' as const, 'stderr' as const),
    offset,
    bytes,
  }),
  fc.record({
    kind: fc.constant('taken' as const),
    next: offset,
    refused: fc.option(fc.constantFrom(...INPUT_REFUSALS)),
  }),
  fc.record({
    kind: fc.constant('signalled' as const),
    answer: fc.record({ commandId: text, errno: fc.option(fc.nat(200)) }),
  }),
  fc.record({
    kind: fc.constant('ended' as const),
    end: fc.record({ exit: fc.record({ code: fc.nat(255) }) }),
  }),
);

describe('what attached clients and hosts say', () => {
  it('is read as it was written', () => {
    fc.assert(
      fc.property(clientFrames, (frame) => {
        expect(decodeClientFrame(encodeClientFrame(frame))).toEqual(frame);
      }),
    );
    fc.assert(
      fc.property(hostFrames, (frame) => {
        expect(decodeHostFrame(encodeHostFrame(frame))).toEqual(frame);
      }),
    );
  });

  it('S2.12 any bytes at all are a frame or are not, and never an error', () => {
    fc.assert(
      fc.property(bytes, (message) => {
        decodeClientFrame(message);
      }),
    );
    expect(decodeClientFrame(new Uint8Array(0))).toBeNull();
    expect(decodeClientFrame(Uint8Array.of(71, 123))).toBeNull();
  });
});
