import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sha256Hex } from '../../../../src/adapters/system/digest.ts';
import { systemClock, systemRandom } from '../../../../src/adapters/system/system.ts';

describe('system adapters', () => {
  it('the digest is SHA-256', () => {
    expect(sha256Hex('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });

  it('a timer wakes once, and not after it was cancelled', async () => {
    const woken: string[] = [];
    const cancel = systemClock.after(0, () => woken.push('cancelled'));
    cancel();
    await new Promise<void>((resolve) =>
      systemClock.after(1, () => {
        woken.push('woken');
        resolve();
      }),
    );
    cancel();
    expect(woken).toEqual(['woken']);
  });

  it('a delay beyond what a Node timer holds does not fire at once', async () => {
    let woken = false;
    const cancel = systemClock.after(2 ** 31 + 10, () => (woken = true));
    await new Promise<void>((resolve) => systemClock.after(5, resolve));
    cancel();
    expect(woken).toBe(false);
  });

  it('what is due periodically is due together, and never less than half a period away', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100_000 }),
        fc.integer({ min: 1, max: 10 }),
        (periodMs, times) => {
          const wantedMs = [periodMs, periodMs * times];
          const beforeMs = systemClock.monotonicMs();
          const [one = 0, other = 0] = wantedMs.map((each) => systemClock.untilTickMs?.(each) ?? 0);
          const tookMs = systemClock.monotonicMs() - beforeMs;
          expect(one).toBeGreaterThanOrEqual(periodMs / 2);
          expect(one).toBeLessThanOrEqual(1.5 * periodMs);
          // Both are whole numbers of the shorter period apart, but for the time between the two calls.
          const apart = (other - one) / periodMs;
          expect(Math.abs(apart - Math.round(apart)) * periodMs).toBeLessThanOrEqual(tookMs + 1e-3);
        },
      ),
    );
  });

  it('chance stays within its bounds', () => {
    for (let n = 0; n < 1_000; n++) expect([0, 1, 2]).toContain(systemRandom.below(3));
    expect(systemRandom.bytes(16)).toHaveLength(16);
  });
});
