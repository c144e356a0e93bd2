import type { WarmUpParts } from '../../schedulers/warmup/warmup.ts';
import { WarmUpStore } from '../../src/adapters/etcd/warm-up-store.ts';
import { sha256Hex } from '../../src/adapters/system/digest.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog, silentMetrics } from '../../src/adapters/telemetry/silent.ts';
import type { SchedulerKind } from '../../src/core/cell/job.ts';
import { seededRandom } from '../../src/core/random/random.ts';
import type { Clock } from '../../src/ports/clock.ts';

/** Counts what is still to be closed, and what still waits for its time. */
export class WatchedRehearsal {
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

  makeStore(mayGoOn?: () => Promise<void>): WarmUpStore {
    const store = new WarmUpStore(this.clock, mayGoOn);
    const close = store.close.bind(store);
    this.open += 1;
    this.stores += 1;
    store.close = () => {
      this.open -= 1;
      return close();
    };
    return store;
  }

  /** Of a scheduler, with a few hosts. */
  parts(kind: SchedulerKind, rounds: number, jobs: number, clock = this.clock): WarmUpParts {
    return {
      // A rehearsal does not take the time to think, which would leave it no time for anything else.
      settings: { id: 's', kind, thinkMs: { job: 3_600_000, task: 0 } },
      makeStore: () => this.makeStore(),
      world: {
        ...{ clock, random: seededRandom(1), digest: sha256Hex },
        ...{ log: silentLog, metrics: silentMetrics },
      },
      size: { rounds, jobs, hosts: 5 },
    };
  }
}
