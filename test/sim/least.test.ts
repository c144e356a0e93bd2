import { describe, expect, it } from 'vitest';
import { failureIn, runSeed } from '../../sim/seeds/run-seed.ts';
import { seedSetting } from '../../sim/seeds/setting.ts';

describe('a run in which too little happened', () => {
  it('fails: nobody asked for anything, and so nothing was tested', async () => {
    const { scenario } = seedSetting();
    const report = await runSeed(1, { scenario: { ...scenario, jobs: 0 }, faults: {} });
    expect({ violations: report.violations, thrown: report.thrown }).toEqual({
      violations: [],
      thrown: null,
    });
    expect(failureIn(report)).toEqual({
      invariant: 'too-little',
      text: 'acknowledged: 0 of at least 3, committed: 0 of at least 3, started: 0 of at least 3, ended: 0 of at least 2',
    });
  });

  it('holds otherwise, and ends before its time once its cell has settled', async () => {
    const { scenario, faults } = seedSetting();
    const report = await runSeed(1, { scenario, faults });
    const whole = await runSeed(1, { scenario: { ...scenario, quietLeastMs: scenario.quietMs }, faults });
    expect(failureIn(report)).toBeNull();
    expect(failureIn(whole)).toBeNull();
    expect(report.events).toBeLessThan(whole.events);
  });
});
