import { describe, expect, it } from 'vitest';
import { WARM_UP_MAX_MS, warmUpFirst } from '../../../../schedulers/warmup/warmup.ts';
import type { Clock } from '../../../../src/ports/clock.ts';
import { WatchedRehearsal } from '../../../support/watched-rehearsal.ts';

describe('a warm-up', () => {
  it.each(['batch', 'service'] as const)(
    'of a %s scheduler places every job, and leaves nothing behind',
    async (kind) => {
      const watched = new WatchedRehearsal();
      expect(await warmUpFirst(watched.parts(kind, 2, 60))).toBe(120);
      expect(watched.stores).toBe(2);
      expect(watched.open).toBe(0);
      expect(watched.timers).toBe(0);
    },
  );

  it('of a system scheduler is none', async () => {
    const watched = new WatchedRehearsal();
    expect(await warmUpFirst(watched.parts('system', 2, 60))).toBe(0);
    expect(watched.stores).toBe(0);
  });

  it('ends when its time is over, with nothing left behind', async () => {
    const watched = new WatchedRehearsal();
    const clock: Clock = {
      ...watched.clock,
      after: (delayMs, act) => watched.clock.after(delayMs === WARM_UP_MAX_MS ? 0 : delayMs, act),
    };
    expect(await warmUpFirst(watched.parts('batch', 3, 4_000, clock))).toBeLessThan(12_000);
    expect(watched.open).toBe(0);
    expect(watched.timers).toBe(0);
  });
});
