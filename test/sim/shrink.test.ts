import { describe, expect, it } from 'vitest';
import { seedOptions } from '../../sim/seeds/setting.ts';
import { shrink } from '../../sim/shrink/shrink.ts';
import { planOf } from '../../sim/world/plan.ts';
import { runWorld } from '../../sim/world/run-world.ts';

describe('a plan', () => {
  it('is all that happens to a run from outside: given back to it, it gives the same run', async () => {
    const options = seedOptions(3);
    const { faults, requests } = planOf(options);
    const drawn = await runWorld(options);
    const given = await runWorld({ ...options, faultPlan: faults, requests });
    expect(drawn.faultPlan).toEqual(faults);
    expect(given.traceHash).toBe(drawn.traceHash);
  });

  it('is not shrunk when its run does not fail', async () => {
    expect(await shrink({ ...seedOptions(1), faultPlan: [], requests: [] })).toBeNull();
  });

  it('S4 loses the faults and requests that a failure does not need', async () => {
    // A task that no agent may have heard of: the run fails with and without its ten or so faults.
    const options = seedOptions(3);
    const broken = { kind: 'kill', atMs: 1, durationMs: 20_000, target: 'nobody' } as const;
    const faultPlan = [...planOf(options).faults, broken];
    const shrunk = await shrink({ ...options, faultPlan });
    expect(shrunk?.failure).toEqual({ invariant: 'threw', text: 'there is no actor nobody' });
    expect(shrunk?.options.faultPlan).toEqual([broken]);
    expect(shrunk?.options.requests).toEqual([]);
  });
});
