import { describe, expect, it } from 'vitest';
import { MUTANTS } from '../../sim/mutants/mutants.ts';
import { suiteOptions } from '../../sim/suite/suite.ts';
import type { Fault } from '../../sim/nemesis/fault.ts';
import { seedOptions } from '../../sim/seeds/seeds.ts';
import { shrink } from '../../sim/shrink/shrink.ts';
import type { Failure } from '../../sim/world/failure.ts';
import { failureOf } from '../../sim/world/failure.ts';
import { planOf } from '../../sim/world/plan.ts';
import { runWorld } from '../../sim/world/run-world.ts';
import type { Request } from '../../sim/actor/client.ts';
import { runBundled } from '../support/bundled.ts';

/** What `shrink-child.ts` prints. */
interface ShrunkElsewhere {
  readonly failure: Failure;
  readonly faultPlan: readonly Fault[];
  readonly requests: readonly Request[];
  readonly again: readonly (Failure | null)[];
}

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
    expect(await shrink(seedOptions(1))).toBeNull();
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

  it('S4 a run that breaks an invariant through a planted bug shrinks to what the bug needs', async () => {
    const [name, theme, seed] = ['restarts-what-it-recovers', 'crash', 1] as const;
    const mutant = MUTANTS.find((one) => one.name === name);
    expect(mutant).toBeDefined();
    const found = await runBundled('test/sim/shrink-child', [theme, String(seed)], [mutant!]);
    const { failure, again, faultPlan, requests } = JSON.parse(found) as ShrunkElsewhere;
    expect(mutant?.breaks).toContain(failure.invariant);
    // What is left is a run of its own, that fails so whenever it is made; of its faults none can go.
    expect(again.map((one) => one?.invariant)).toEqual([failure.invariant, failure.invariant]);
    const options = suiteOptions(theme, seed);
    const whole = planOf(options);
    expect(whole.faults.length).toBeGreaterThan(5);
    expect(faultPlan.length).toBe(1);
    // An agent that comes back finds what it had started.
    expect(faultPlan[0]).toMatchObject({ target: expect.stringMatching(/^host-/) as string });
    expect(['kill', 'reboot']).toContain(faultPlan[0]?.kind);
    expect(requests.length).toBeLessThan(whole.requests.length / 4);
    // Without the bug nothing is broken; so little is asked for in what is left that this alone would prove nothing.
    expect((await failureOf({ ...options, faultPlan, requests }))?.invariant).toBe('too-little');
    expect(await failureOf(options)).toBeNull();
  });

  it('knows a run in which too little happened, and leaves its requests as they are', async () => {
    const { requests } = planOf(seedOptions(3));
    const options = { ...seedOptions(3), requests: requests.slice(0, 1) };
    const shrunk = await shrink(options);
    expect(shrunk?.failure.invariant).toBe('too-little');
    expect(shrunk?.options.faultPlan).toEqual([]);
    expect(shrunk?.options.requests).toEqual(options.requests);
  });
});
