import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Canary } from '../../../../src/adapters/etcd/canary.ts';
import type { Random } from '../../../../src/ports/random.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const INTERVAL_MS = 2_000;
/** Who has an answer that is not older asks for none. */
const ANSWER_MS = 4_000;
/** A write is followed by none while it counts as fresh. */
const FRESH_MS = 1_500;
const DELIVERY_MS = 5;
const TIME_MS = 40_000;

/** Processes that watch one key of one store, each begun at a time of its own. */
class Watchers {
  readonly clock = new ManualClock();
  readonly writes: number[] = [];
  readonly #heard: (() => void)[] = [];
  readonly #random: Pick<Random, 'fraction'>;

  constructor(random: Pick<Random, 'fraction'>) {
    this.#random = random;
  }

  /** @param isDeaf nothing comes through its watch */
  join(isDeaf = false) {
    const own = {
      ...{ calls: 0, answeredAtMs: -Infinity, longestMs: 0, heardAtMs: this.clock.monotonicMs() },
      silentAtMs: null as number | null,
    };
    const header = { cluster_id: '1', member_id: '1', raft_term: '1', revision: '1' };
    const answer = async () => {
      own.calls += 1;
      const nowMs = this.clock.monotonicMs();
      if (own.calls > 1) own.longestMs = Math.max(own.longestMs, nowMs - own.answeredAtMs);
      own.answeredAtMs = nowMs;
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
    new Canary({
      ...{ etcd: { kv } as never, beginCall: () => () => undefined, clock: this.clock, key: 'k' },
      ...{ intervalMs: INTERVAL_MS, random: this.#random },
      isHeardSince: (sinceMs) => own.heardAtMs >= sinceMs,
      isAnsweredSince: (sinceMs) => own.answeredAtMs >= sinceMs,
      onDue: (writtenAtMs) => {
        if (own.heardAtMs < writtenAtMs) own.silentAtMs ??= this.clock.monotonicMs();
      },
    }).start();
    return own;
  }
}

it('a process that is alone on its key writes whenever it looks, and it begins with a read', async () => {
  const watchers = new Watchers({ fraction: () => 0 });
  const own = watchers.join();
  await watchers.clock.advance(20 * INTERVAL_MS);
  expect([watchers.writes.length, own.calls, own.silentAtMs]).toEqual([20, 21, null]);
});

it('of many on one key one writes, each asks the store in three intervals, and a watch that has died is found', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat({ max: INTERVAL_MS }), { minLength: 2, maxLength: 30 }),
      fc.boolean(),
      fc.nat(),
      async (offsets, hasDeaf, seed) => {
        const watchers = new Watchers(seededRandom(seed));
        const all = [];
        for (const offset of offsets) {
          all.push(watchers.join());
          await watchers.clock.advance(offset);
        }
        const beganMs = watchers.clock.monotonicMs();
        const deaf = hasDeaf ? watchers.join(true) : null;
        await watchers.clock.advance(TIME_MS);
        const writes = watchers.writes.filter((atMs) => atMs >= beganMs);
        // What is under way is not heard yet.
        const apart = writes.filter((atMs, index) => index === 0 || atMs - writes[index - 1]! > DELIVERY_MS);
        if (!hasDeaf) expect(apart.length).toBeLessThanOrEqual(TIME_MS / FRESH_MS + 1);
        for (const { answeredAtMs, longestMs, silentAtMs } of all) {
          expect(silentAtMs).toBeNull();
          const sinceMs = watchers.clock.monotonicMs() - answeredAtMs;
          expect(Math.max(longestMs, sinceMs)).toBeLessThanOrEqual(3 * INTERVAL_MS);
        }
        // Who writes has its answer, and the others ask only when theirs is old.
        const calls = all.reduce((sum, one) => sum + one.calls, 0);
        const timeMs = watchers.clock.monotonicMs();
        if (!hasDeaf)
          expect(calls).toBeLessThanOrEqual(
            (all.length * timeMs) / ANSWER_MS + timeMs / FRESH_MS + all.length + 1,
          );
        if (deaf !== null) expect(deaf.silentAtMs! - beganMs).toBeLessThanOrEqual(3 * INTERVAL_MS);
      },
    ),
    { numRuns: 30 },
  );
});

it('processes that began in one moment do not write together for long', async () => {
  const watchers = new Watchers(seededRandom(1));
  for (let count = 0; count < 30; count++) watchers.join();
  await watchers.clock.advance(TIME_MS);
  expect(watchers.writes.length).toBeLessThanOrEqual(2 * (TIME_MS / FRESH_MS));
});
