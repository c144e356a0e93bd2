import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BeatInterval, SILENCE_MS } from '../../../../src/runtime/reports/beat-interval.ts';

const OPEN = { isOpen: true, cutAtMs: 0 };

describe('the interval of beats', () => {
  it('S0.9 is a second for 500 hosts, and grows with them so that 500 beats come a second', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), (hosts) => {
        const beats = new BeatInterval();
        beats.follow(hosts);
        expect(hosts / (beats.ms / 1_000)).toBeLessThanOrEqual(500);
        expect(beats.ms).toBeLessThanOrEqual(2 * hosts + 1_000);
      }),
    );
  });

  it('I18 two missed beats mean nothing, whatever the interval', () => {
    fc.assert(
      fc.property(fc.nat(50_000), fc.nat(1_000_000), (hosts, heardAtMs) => {
        const beats = new BeatInterval();
        beats.follow(hosts);
        expect(beats.silentAtMs({ ...OPEN, heardAtMs }) - heardAtMs).toBe(3 * beats.ms);
      }),
    );
  });

  it('I18 never shrinks: streams that are open keep the beats that they asked for', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20_000)), (counts) => {
        const beats = new BeatInterval();
        let before = beats.silenceMs;
        for (const hosts of counts) {
          beats.follow(hosts);
          expect(beats.silenceMs).toBeGreaterThanOrEqual(before);
          before = beats.silenceMs;
        }
      }),
    );
  });

  it('S0.9 a host whose stream has ended is silent after three seconds, and never later than with a stream', () => {
    fc.assert(
      fc.property(fc.nat(20_000), fc.nat(60_000), fc.nat(60_000), (hosts, heardAtMs, cutAfterMs) => {
        const beats = new BeatInterval();
        beats.follow(hosts);
        const cutAtMs = heardAtMs + cutAfterMs;
        const dueMs = beats.silentAtMs({ heardAtMs, isOpen: false, cutAtMs });
        expect(dueMs).toBe(Math.min(cutAtMs + SILENCE_MS, beats.silentAtMs({ ...OPEN, heardAtMs })));
      }),
    );
  });

  it('S0.9 what an operator asks for holds for any number of hosts', () => {
    const beats = new BeatInterval(40_000);
    beats.follow(20_000);
    expect(beats.silenceMs).toBe(40_000);
    expect(beats.silentAtMs({ heardAtMs: 5, isOpen: false, cutAtMs: 9 })).toBe(40_005);
  });
});
