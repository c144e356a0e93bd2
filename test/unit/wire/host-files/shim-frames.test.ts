import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ShimState } from '../../../../src/core/host/shim.ts';
import {
  encodeFrame,
  encodeState,
  FRAME_BYTES_MAX,
  FrameReader,
  stateFrom,
} from '../../../../src/wire/host-files/shim-frames.ts';

const frames = fc.array(
  fc.record({ type: fc.constantFrom(...'HIESWKFRLxyz'), payload: fc.uint8Array({ maxLength: 200 }) }),
  { maxLength: 8 },
);
const left = fc.option(fc.nat(), { nil: null });
const u16 = fc.nat(65_535);
const someState: fc.Arbitrary<ShimState> = fc.record({
  version: fc.constant(2),
  ...{ pid: fc.nat(), job: fc.nat(), jobStart: fc.nat() },
  ...{ done: fc.boolean(), stdinOpen: fc.boolean(), pty: fc.boolean(), frozen: fc.boolean() },
  ...{ stopping: fc.boolean(), stdinNext: fc.maxSafeNat(), signalSequence: fc.nat() },
  ...{ runLeftMs: left, disconnectLeftMs: left, out: fc.maxSafeNat(), err: fc.maxSafeNat() },
  ...{ rows: u16, columns: u16 },
});

describe('frames', () => {
  it('S2.12 come out whole wherever the stream of bytes is cut', () => {
    fc.assert(
      fc.property(frames, fc.array(fc.integer({ min: 1, max: 50 })), (sent, cuts) => {
        const bytes = Buffer.concat(sent.map(({ type, payload }) => encodeFrame(type, [], payload)));
        const reader = new FrameReader();
        const got = [];
        for (let at = 0, i = 0; at < bytes.length; i++) {
          const end = Math.min(bytes.length, at + (cuts[i] ?? 13));
          got.push(...reader.push(bytes.subarray(at, end)));
          at = end;
        }
        expect(got.map(({ type, payload }) => ({ type, payload: [...payload] }))).toEqual(
          sent.map(({ type, payload }) => ({ type, payload: [...payload] })),
        );
      }),
    );
  });

  it('a length that no frame has ends the reading', () => {
    expect(() => new FrameReader().push(new Uint8Array(4))).toThrow(/0 bytes/);
    const huge = new Uint8Array(4);
    new DataView(huge.buffer).setUint32(0, FRAME_BYTES_MAX + 1, true);
    expect(() => new FrameReader().push(huge)).toThrow(/bytes/);
  });

  it('a state says what was written', () => {
    fc.assert(
      fc.property(someState, (state) => {
        const [frame] = new FrameReader().push(encodeState(state));
        expect(frame === undefined ? null : stateFrom(frame)).toEqual(state);
      }),
    );
  });

  it('S2.21 a shim of the first version says less, and is understood', () => {
    const [frame] = new FrameReader().push(encodeFrame('h', [{ u64: 77 }, { u8: 1 }]));
    expect(frame === undefined ? null : stateFrom(frame)).toMatchObject({ version: 1, job: 77, done: true });
    expect(stateFrom({ type: 'n', payload: new Uint8Array(1) })).toBeNull();
  });
});
