import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RestartHistory } from '../../../../host-agent/tasks/restarts.ts';
import { decideRestart } from '../../../../host-agent/tasks/restarts.ts';
import type { RestartPolicy } from '../../../../src/core/cell/job.ts';
import type { ExitRecord } from '../../../../src/wire/host-files/attempt-files.ts';
import { someStart, someTask } from '../../../support/host-orders.ts';
import { HostWorld } from '../../../support/host-world.ts';

const POLICY: RestartPolicy = {
  attempts: 20,
  windowMs: 3_600_000,
  delayMs: 1_000,
  delayMaxMs: 60_000,
  on: 'failure',
};
const FAILED: ExitRecord = { code: 1, out: 0, err: 0, atMs: 1_000_000, by: 'shim' };
const FIRST: RestartHistory = { restartsAtMs: [], doublings: null, startedAtMs: 999_990 };

function delay(policy: RestartPolicy, history: RestartHistory, fraction = 1): number {
  const decision = decideRestart(policy, FAILED, history, FAILED.atMs, fraction);
  if (!decision.restart) throw new Error(decision.why);
  return decision.atMs - FAILED.atMs;
}

describe('restart delays', () => {
  it('S0.18 double up to their bound, each drawn from its upper half', () => {
    const delays = [null, 0, 1, 2, 5, 29].map((doublings) => delay(POLICY, { ...FIRST, doublings }));
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 60_000, 60_000]);
    expect(delay(POLICY, { ...FIRST, doublings: 2 }, 0)).toBe(4_000);
  });

  it('begin anew after a run as long as the longest delay', () => {
    const long = { ...FIRST, doublings: 4, startedAtMs: FAILED.atMs - 60_000 };
    expect(delay(POLICY, long)).toBe(1_000);
    expect(delay(POLICY, { ...long, startedAtMs: FAILED.atMs - 59_999 })).toBe(32_000);
  });

  it('stay as they are written where no longest one is', () => {
    const { delayMaxMs: _longest, ...plain } = POLICY;
    expect(delay(plain, { ...FIRST, doublings: 4 }, 0)).toBe(1_000);
  });

  it('count from the end of the task: an agent that was away adds nothing, a clock that was set back neither', () => {
    const late = decideRestart(POLICY, FAILED, FIRST, FAILED.atMs + 600, 1);
    expect(late).toMatchObject({ atMs: FAILED.atMs + 1_000 });
    const back = decideRestart(POLICY, FAILED, FIRST, FAILED.atMs - 50_000, 1);
    expect(back).toMatchObject({ atMs: FAILED.atMs - 49_000 });
  });

  it('I22 whatever the policy, a delay is at most the longest one, and there are never too many restarts', () => {
    const policies = fc.record({
      attempts: fc.nat(10),
      windowMs: fc.nat(100_000),
      delayMs: fc.nat(5_000),
      delayMaxMs: fc.integer({ min: 5_000, max: 50_000 }),
      on: fc.constantFrom('failure' as const, 'always' as const, 'never' as const),
    });
    const histories = fc.record({
      restartsAtMs: fc.array(fc.integer({ min: 800_000, max: 1_000_000 }), { maxLength: 20 }),
      doublings: fc.option(fc.nat(40)),
      startedAtMs: fc.option(fc.integer({ min: 0, max: 1_000_000 })),
    });
    fc.assert(
      fc.property(
        policies,
        histories,
        fc.double({ min: 0, max: 1, noNaN: true }),
        (policy, history, drawn) => {
          const decision = decideRestart(policy, FAILED, history, FAILED.atMs, drawn);
          const recent = history.restartsAtMs.filter((atMs) => atMs > FAILED.atMs - policy.windowMs).length;
          expect(decision.restart).toBe(policy.on !== 'never' && recent < policy.attempts);
          if (decision.restart) expect(decision.atMs - FAILED.atMs).toBeLessThanOrEqual(policy.delayMaxMs);
        },
      ),
    );
  });
});

describe('restarts over losses of the agent', () => {
  const crashing = (attempts: number) =>
    someStart({
      tasks: [someTask({ env: { HOLLOW_RUN_MS: '100', HOLLOW_EXIT_CODE: '1' } })],
      restart: { attempts, windowMs: 3_600_000, delayMs: 50, delayMaxMs: 400, on: 'failure' },
    });

  it('S0.18 S0.19 S3.52 on-failure:5 is five restarts however often the agent is lost', async () => {
    const world = new HostWorld();
    await world.open();
    const order = crashing(5);
    const { id } = order.allocation;
    await world.agent.start(order);
    for (let restarts = 1; restarts <= 5; restarts++) {
      await world.until(id, (report) => report.restarts === restarts, 10);
      await world.loseAgent();
      await world.clock.advance(restarts * 70);
      await world.open();
    }
    const ended = await world.until(id, (report) => report.released);
    expect(ended).toMatchObject({ state: 'failed', restarts: 5 });
  });

  it('I22 S2.17 a lost record of the last attempt gives no restart away', async () => {
    const world = new HostWorld();
    await world.open();
    const order = crashing(4);
    const { id } = order.allocation;
    await world.agent.start(order);
    await world.until(id, (report) => report.restarts === 3, 10);
    await world.loseAgent();
    await world.disk.replace(`attempts/${id}.main.4/spec.json`, 'garbage');
    await world.open();
    const ended = await world.until(id, (report) => report.released);
    expect(ended).toMatchObject({ state: 'failed', restarts: 4 });
  });
});
