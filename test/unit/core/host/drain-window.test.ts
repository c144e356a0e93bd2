import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { drainedBy, isInWindow, windowStep, windowText } from '../../../../src/core/host/drain-window.ts';
import type { DrainWindow, Eligibility } from '../../../../src/core/host/host.ts';
import { ELIGIBILITY } from '../../../../src/core/host/host.ts';

const PLAN: DrainWindow = { atMs: 1_000, endsAtMs: 5_000, deadlineMs: 500, reason: 'disks', by: 'ada' };
const READY: Eligibility = { state: 'ready', reason: '', by: '', sinceMs: 0, counter: 0, window: PLAN };

describe('a drain that begins by itself', () => {
  it('begins at its time, and ends at its end', () => {
    expect(windowStep(READY, 999)).toBeNull();
    expect(windowStep(READY, 1_000)).toBe('begin');
    const drained = { ...READY, ...drainedBy(PLAN, 1_200) };
    expect(drained).toMatchObject({ state: 'draining', by: 'ada', reason: 'disks', drainDeadlineMs: 1_700 });
    expect(windowStep(drained, 4_999)).toBeNull();
    expect(windowStep(drained, 5_000)).toBe('end');
  });

  it('that nobody began in time is dropped, and so is one of a host that another drain holds', () => {
    expect(windowStep(READY, 5_000)).toBe('drop');
    const other: Eligibility = { ...READY, state: 'draining' };
    expect(windowStep(other, 1_000)).toBeNull();
    expect(windowStep(other, 5_000)).toBe('drop');
  });

  it('of a host that is lost waits for its return, and keeps its deadline when it begins again', () => {
    const began = drainedBy(PLAN, 1_200);
    const lost: Eligibility = { ...READY, ...began, state: 'lost' };
    expect(windowStep(lost, 2_000)).toBeNull();
    expect(isInWindow(lost, 2_000)).toBe(true);
    expect(isInWindow(lost, 5_000)).toBe(false);
    expect(drainedBy(began.window, 3_000).drainDeadlineMs).toBe(1_700);
  });

  it('never asks for another step once a step was taken', () => {
    const eligibility = fc.record({
      state: fc.constantFrom(...ELIGIBILITY),
      began: fc.boolean(),
      endsAtMs: fc.option(fc.integer({ min: 1_001, max: 9_000 }), { nil: undefined }),
      nowMs: fc.integer({ min: 0, max: 10_000 }),
    });
    fc.assert(
      fc.property(eligibility, ({ state, began, endsAtMs, nowMs }) => {
        const { endsAtMs: _end, ...rest } = PLAN;
        const window = {
          ...rest,
          ...(endsAtMs === undefined ? {} : { endsAtMs }),
          ...(began ? { beganAtMs: 1_000 } : {}),
        };
        const known: Eligibility = { ...READY, state, window };
        if (windowStep(known, nowMs) !== 'begin') return;
        expect(windowStep({ ...known, ...drainedBy(window, nowMs) }, nowMs)).toBeNull();
      }),
    );
  });

  it('is told in a sentence', () => {
    expect(windowText(PLAN)).toBe(
      'drained from 1970-01-01T00:00:01Z until 1970-01-01T00:00:05Z by ada: disks',
    );
    expect(windowText({ atMs: 1_000, reason: '', by: 'ada' })).toBe(
      'drained from 1970-01-01T00:00:01Z by ada',
    );
  });
});
