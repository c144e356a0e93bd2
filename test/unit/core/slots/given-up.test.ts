import { describe, expect, it } from 'vitest';
import type { Eligibility } from '../../../../src/core/host/host.ts';
import { GIVEN_UP, givenUpAtMs, givenUpOutcome, isGivenUp } from '../../../../src/core/slots/given-up.ts';
import type { HostCondition } from '../../../../src/core/slots/job-view.ts';
import { allocationOf } from '../../../support/monitor-world.ts';
import { reportOf } from '../../../support/reporting-host.ts';

const LOST: Eligibility = { state: 'lost', reason: '', by: 'm1', sinceMs: 1_000, counter: 1 };
const lost = (more: Partial<HostCondition> = {}): HostCondition => ({
  ...{ state: 'lost', drainDeadlineMs: null },
  ...more,
});

describe('what is given up on a lost host', () => {
  it('S1.12 is given up after the orphan time, and at once on an operator’s word', () => {
    expect(givenUpAtMs(undefined, 500)).toBeNull();
    expect(givenUpAtMs({ ...LOST, state: 'draining' }, 500)).toBeNull();
    expect(givenUpAtMs(LOST, 500)).toBe(1_500);
    expect(givenUpAtMs({ ...LOST, confirmed: 'lost' }, 500)).toBe(1_000);
  });

  it('S0.1 S1.12 what is to end there goes, what is to run stays, unless the host was removed', () => {
    const runs = { allocation: allocationOf('h1', 'a1'), report: null };
    const ends = { allocation: allocationOf('h1', 'a2', { desired: 'stop', cause: 'x' }), report: null };
    const late = lost({ givenUpAtMs: 1_500 });
    expect(isGivenUp(ends, late, 1_499)).toBe(false);
    expect(isGivenUp(ends, late, 1_500)).toBe(true);
    expect(isGivenUp(runs, late, 9_000)).toBe(false);
    expect(isGivenUp(ends, lost(), 9_000)).toBe(false);
    for (const one of [runs, ends]) expect(isGivenUp(one, lost({ isRemoved: true }), 0)).toBe(true);
    const back: HostCondition = { state: 'ready', drainDeadlineMs: null, givenUpAtMs: 0, isRemoved: true };
    expect(isGivenUp(ends, back, 9_000)).toBe(false);
  });

  it('I6 what an open intent holds goes with the intent', () => {
    const reserved = { allocation: allocationOf('h1', 'a1', { intent: 'i1' }), report: null };
    expect(isGivenUp(reserved, lost({ isRemoved: true }), 0)).toBe(false);
  });

  it('S1.13 an end that the host had reported stays what it was', () => {
    const allocation = allocationOf('h1', 'a1');
    const ended = reportOf('h1', 'a1', { state: 'complete', exit: { code: 0 }, endedAtMs: 5 });
    expect(givenUpOutcome(allocation, ended, 9_000)).toMatchObject({ state: 'complete', exit: { code: 0 } });
    const lastHeard = [null, reportOf('h1', 'a1')];
    for (const report of lastHeard)
      expect(givenUpOutcome(allocation, report, 9_000)).toMatchObject({
        state: 'lost',
        exit: { lost: GIVEN_UP },
      });
  });
});
