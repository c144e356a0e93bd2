import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Canary } from '../../../../src/adapters/etcd/canary.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const INTERVAL_MS = 2_000;
const DELIVERY_MS = 5;

/** Processes that watch one key of one store, each begun at a time of its own. */
class Watchers {
  readonly clock = new ManualClock();
  readonly writes: number[] = [];
  readonly #heard: (() => void)[] = [];

  async join(isDeaf = false) {
    const own = { calls: 0, heardAtMs: this.clock.monotonicMs(), silentAtMs: null as number | null };
    const header = { cluster_id: '1', member_id: '1', raft_term: '1', revision: '1' };
    const answer = async () => {
      own.calls += 1;
      return { header };
    };
    const kv = {
      range: answer,
      put: () => {
        this.writes.push(this.clock.monotonicMs());
        this.clock.after(DELIVERY_MS, () => {
          for (const hear of this.#heard) hear();
        });
        return answer();
      },
    };
    if (!isDeaf) this.#heard.push(() => (own.heardAtMs = this.clock.monotonicMs()));
    const canary = new Canary({
      ...{ etcd: { kv } as never, beginCall: () => () => undefined, clock: this.clock, key: 'k' },
      intervalMs: INTERVAL_MS,
      isHeardSince: (sinceMs) => own.heardAtMs >= sinceMs,
      onDue: (writtenAtMs) => {
        if (own.heardAtMs < writtenAtMs) own.silentAtMs ??= this.clock.monotonicMs();
      },
    });
    await this.clock.advance(1);
    canary.start();
    return own;
  }
}

it('a process that is alone on its key writes every interval', async () => {
  const watchers = new Watchers();
  const own = await watchers.join();
  await watchers.clock.advance(20 * INTERVAL_MS);
  // It begins with a read: its watch has just been opened.
  expect([watchers.writes.length, own.calls, own.silentAtMs]).toEqual([20, 21, null]);
});

it('of many on one key one writes in an interval, each asks the store in each, and a watch that has died is found', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat({ max: INTERVAL_MS }), { minLength: 2, maxLength: 30 }),
      fc.boolean(),
      async (offsets, hasDeaf) => {
        const watchers = new Watchers();
        const all = [];
        for (const offset of offsets) {
          all.push(await watchers.join());
          await watchers.clock.advance(offset);
        }
        const before = watchers.writes.length;
        const callsBefore = all.map(({ calls }) => calls);
        const deaf = hasDeaf ? await watchers.join(true) : null;
        const deafAtMs = watchers.clock.monotonicMs();
        await watchers.clock.advance(20 * INTERVAL_MS);
        // The deaf one writes in each interval as well, and is heard by the others.
        expect(watchers.writes.length - before).toBeLessThanOrEqual(20 / 0.75 + 1 + (hasDeaf ? 20 : 0));
        for (const [index, { calls, silentAtMs }] of all.entries()) {
          expect(silentAtMs).toBeNull();
          expect(calls - callsBefore[index]!).toBeGreaterThanOrEqual(19);
        }
        if (deaf !== null) expect(deaf.silentAtMs! - deafAtMs).toBeLessThanOrEqual(3 * INTERVAL_MS);
      },
    ),
    { numRuns: 30 },
  );
});
