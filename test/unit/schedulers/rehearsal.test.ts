import { describe, expect, it } from 'vitest';
import { RehearsalStore } from '../../../src/adapters/etcd/rehearsal-store.ts';
import { systemClock } from '../../../src/adapters/system/clock.ts';
import { sha256Hex } from '../../../src/adapters/system/digest.ts';
import { silentLog, silentMetrics } from '../../../src/adapters/telemetry/silent.ts';
import { seededRandom } from '../../../src/core/seeded-random.ts';
import type { SchedulerKind } from '../../../src/core/job.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import { REHEARSAL_MAX_MS, rehearse } from '../../../schedulers/rehearsal.ts';

/** Counts what is still to be closed, and what still waits for its time. */
class Watched {
  open = 0;
  stores = 0;
  timers = 0;

  readonly clock: Clock = {
    nowMs: () => systemClock.nowMs(),
    monotonicMs: () => systemClock.monotonicMs(),
    after: (delayMs, act) => {
      let isDue = true;
      this.timers += 1;
      const over = (): void => {
        if (isDue) this.timers -= 1;
        isDue = false;
      };
      const cancel = systemClock.after(delayMs, () => {
        over();
        act();
      });
      return () => {
        over();
        cancel();
      };
    },
  };

  makeStore(): RehearsalStore {
    const store = new RehearsalStore(this.clock);
    const close = store.close.bind(store);
    this.open += 1;
    this.stores += 1;
    store.close = () => {
      this.open -= 1;
      return close();
    };
    return store;
  }

  rehearse(kind: SchedulerKind, rounds: number, jobs: number, clock = this.clock): Promise<number> {
    return rehearse({
      // A rehearsal does not take the time to think, which would leave it no time for anything else.
      settings: { id: 's', kind, thinkMs: { job: 3_600_000, task: 0 } },
      makeStore: () => this.makeStore(),
      world: {
        ...{ clock, random: seededRandom(1), digest: sha256Hex },
        ...{ log: silentLog, metrics: silentMetrics },
      },
      size: { rounds, jobs, hosts: 5 },
    });
  }
}

describe('a rehearsal', () => {
  it.each(['batch', 'service'] as const)(
    'of a %s scheduler places every job, and leaves nothing behind',
    async (kind) => {
      const watched = new Watched();
      expect(await watched.rehearse(kind, 2, 60)).toBe(120);
      expect(watched.stores).toBe(2);
      expect(watched.open).toBe(0);
      expect(watched.timers).toBe(0);
    },
  );

  it('of a system scheduler is none', async () => {
    const watched = new Watched();
    expect(await watched.rehearse('system', 2, 60)).toBe(0);
    expect(watched.stores).toBe(0);
  });

  it('ends when its time is over, with nothing left behind', async () => {
    const watched = new Watched();
    const clock: Clock = {
      ...watched.clock,
      after: (delayMs, act) => watched.clock.after(delayMs === REHEARSAL_MAX_MS ? 0 : delayMs, act),
    };
    expect(await watched.rehearse('batch', 3, 4_000, clock)).toBeLessThan(12_000);
    expect(watched.open).toBe(0);
    expect(watched.timers).toBe(0);
  });
});
