import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BudgetStatus, BudgetsAnswer } from '../../../../src/wire/budgets/budgets.ts';
import { bucketCodec } from '../../../../src/wire/budgets/budget-records.ts';
import { MonitorWorld } from '../../../support/monitor-world.ts';
import { until } from '../../../support/manual-clock.ts';

const RULE = { burst: 10, perHour: 3_600 };
const PER = { attribute: 'rack', burst: 4, perHour: 3_600 };

describe('S3.40 budgets, as the API has them', () => {
  let world: MonitorWorld;
  let address: string;
  let buckets: () => number;
  beforeEach(async () => {
    world = new MonitorWorld();
    const { monitor, ...rest } = await world.monitor('m1');
    ({ address } = rest);
    buckets = () => monitor.state.copy.buckets.size;
  });
  afterEach(() => world.close());

  const set = (body: unknown) => world.call('PUT', `${address}/v1/budgets`, body);
  async function status(kind: string): Promise<BudgetStatus | undefined> {
    const { budgets } = (await world.call('GET', `${address}/v1/budgets`)).body as BudgetsAnswer;
    return budgets.find((one) => one.kind === kind);
  }
  async function drawn(names: readonly string[], inMs: number): Promise<void> {
    const value = bucketCodec.encode({ fullAtMs: world.clock.nowMs() + inMs });
    await world.write(names.map((name) => ({ kind: 'put', key: world.keys.bucket(name), value })));
  }

  it('tell each failure domain that was drawn from, by the attribute that counts now', async () => {
    expect((await set({ moves: { ...RULE, per: PER }, orphans: { per: PER } })).status).toBe(200);
    expect(await status('moves')).toEqual({
      kind: 'moves',
      rule: RULE,
      left: 10,
      per: { ...PER, domains: [] },
    });
    await drawn(['moves', 'moves/rack/r2', 'moves/rack/', 'moves/zone/z1', 'orphans/rack/r1'], 3_000);
    await until(() => buckets() === 5, 'the buckets');
    const domains = [
      { value: '', left: 1 },
      { value: 'r2', left: 1 },
    ];
    expect(await status('moves')).toMatchObject({ left: 7, per: { domains } });
    expect(await status('orphans')).toEqual({
      ...{ kind: 'orphans', rule: null, left: null },
      per: { ...PER, domains: [{ value: 'r1', left: 1 }] },
    });
    expect(await status('evictions')).toEqual({ kind: 'evictions', rule: null, left: null });
  });

  it('refuse what bounds nothing, and half a rule', async () => {
    for (const moves of [{}, { burst: 1 }, { ...RULE, per: { burst: 1, perHour: 1 } }])
      expect((await set({ moves })).status).toBe(400);
  });

  it('lose buckets an hour after they are full, and no sooner', async () => {
    await drawn(['moves/rack/r1'], 2_000);
    await drawn(['moves', 'moves/rack/r2'], 1_800_000);
    await until(() => buckets() === 3, 'the buckets');
    await world.pass(3_590, []);
    expect(buckets()).toBe(3);
    await world.pass(20, []);
    expect(buckets()).toBe(2);
    await world.pass(1_800, []);
    expect(buckets()).toBe(0);
  });
});
