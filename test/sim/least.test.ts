import { describe, expect, it } from 'vitest';
import { runSeed } from '../../sim/seeds/run-seed.ts';
import { seedOptions } from '../../sim/seeds/seeds.ts';
import { failureIn, failureOf } from '../../sim/world/failure.ts';

describe('a run in which too little happened', () => {
  it('fails: nobody asked for anything, and so nothing was tested', async () => {
    const options = seedOptions(1, { everyMs: null });
    const idle = { ...options, scenario: { ...options.scenario, jobs: 0 } };
    const report = await runSeed(idle);
    expect({ violations: report.violations, thrown: report.thrown }).toEqual({
      violations: [],
      thrown: null,
    });
    expect(failureIn(report)).toEqual({
      invariant: 'too-little',
      text: 'acknowledged: 0 of at least 3, committed: 0 of at least 3, started: 0 of at least 3, ended: 0 of at least 2',
    });
    expect(await failureOf(idle)).toEqual(failureIn(report));
  });

  it('holds otherwise, and ends before its time once its cell has settled', async () => {
    const options = seedOptions(1);
    const { scenario } = options;
    const report = await runSeed(options);
    const whole = await runSeed({ ...options, scenario: { ...scenario, quietLeastMs: scenario.quietMs } });
    expect(failureIn(report)).toBeNull();
    expect(failureIn(whole)).toBeNull();
    expect(report.events).toBeLessThan(whole.events);
  });
});
