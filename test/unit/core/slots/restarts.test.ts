import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../../src/core/cell/allocation.ts';
import type { TaskReport } from '../../../../src/core/host/report.ts';
import type { LiveSlot } from '../../../../src/core/slots/restarts.ts';
import {
  isLooping,
  joinRestarts,
  NO_RESTARTS,
  restartsOfEmptySlot,
  restartsOfSlot,
  restartsText,
} from '../../../../src/core/slots/restarts.ts';

const NOW_MS = 1_000_000;

function live(task: Partial<TaskReport>, restarts = task.restarts ?? 0): LiveSlot {
  return {
    allocation: { jobVersion: 2, createdAtMs: NOW_MS - 500 },
    report: { state: 'running', restarts, tasks: { t: { state: 'running', restarts: 0, ...task } } },
  };
}

function ended(more: Partial<Outcome>): Outcome {
  return {
    ...{ namespace: 'default', job: 'j', jobVersion: 2, group: 'g', index: 0, attempt: 1, scheduler: 's' },
    ...{ allocation: 'a', host: 'h1', state: 'failed', reason: 'exit 1', exit: { code: 1 } },
    ...{ endedAtMs: 1, restarts: 0, ...more },
  };
}

describe('how often a slot was started again', () => {
  it('the first start is none', () => {
    expect(restartsOfSlot(live({ pid: 1 }), [])).toEqual(NO_RESTARTS);
    expect(restartsOfSlot({ ...live({}), report: null }, [])).toEqual(NO_RESTARTS);
  });

  it('on its host: with the end before, and since when it runs', () => {
    const up = live({ restarts: 3, startedAtMs: NOW_MS - 10, lastExit: { code: 7 } });
    expect(restartsOfSlot(up, [])).toEqual({
      ...{ count: 3, most: 3, waiting: 0, lastAtMs: NOW_MS - 10, lastExit: { code: 7 } },
    });
    const waits = live({ restarts: 3, exit: { code: 8 }, lastExit: { code: 7 } });
    expect(restartsOfSlot(waits, [])).toMatchObject({ count: 3, most: 3, waiting: 1, lastExit: { code: 8 } });
    expect(restartsOfSlot(live({ exit: { code: 8 } }), [])).toMatchObject({ count: 0, most: 0, waiting: 1 });
    const starts = live({ state: 'starting', restarts: 3, lastExit: { code: 7 } });
    expect(restartsOfSlot(starts, [])).toMatchObject({
      count: 3,
      most: 3,
      waiting: 1,
      lastExit: { code: 7 },
    });
  });

  it('as a new allocation, also after its host went down; an update and a place that was never found are none', () => {
    const reboot = ended({ state: 'lost', exit: { lost: 'host-reboot' }, restarts: 2 });
    expect(restartsOfSlot(live({}), [reboot])).toEqual({
      ...{ count: 3, most: 3, waiting: 0, lastAtMs: NOW_MS - 500, lastExit: { lost: 'host-reboot' } },
    });
    expect(restartsOfSlot(live({}), [ended({ jobVersion: 1 }), ended({ host: '' })])).toEqual(NO_RESTARTS);
  });

  it('a slot that nothing holds waits for its next start', () => {
    expect(restartsOfEmptySlot([])).toEqual(NO_RESTARTS);
    const twice = [ended({}), ended({ attempt: 2, exit: { code: 2 }, restarts: 1 })];
    expect(restartsOfEmptySlot(twice)).toEqual({
      ...{ count: 2, most: 2, waiting: 1 },
      lastAtMs: null,
      lastExit: { code: 2 },
    });
  });

  it('all slots together have the end before the latest start', () => {
    const one = { count: 1, most: 1, waiting: 0, lastAtMs: 5, lastExit: { code: 5 } };
    const two = { count: 2, most: 2, waiting: 1, lastAtMs: 9, lastExit: { code: 9 } };
    const joined = { count: 3, most: 2, waiting: 1, lastAtMs: 9, lastExit: { code: 9 } };
    expect(joinRestarts([one, NO_RESTARTS, two])).toEqual(joined);
    expect(joinRestarts([two, one])).toEqual(joined);
    expect(joinRestarts([])).toBe(NO_RESTARTS);
  });

  it('loops: twice at least, and not up for a minute', () => {
    const loop = { count: 2, most: 2, waiting: 0, lastAtMs: NOW_MS, lastExit: { code: 1 } };
    expect(isLooping(loop, NOW_MS + 59_999)).toBe(true);
    expect(isLooping(loop, NOW_MS + 60_000)).toBe(false);
    expect(isLooping({ ...loop, waiting: 1 }, NOW_MS + 60_000)).toBe(true);
    expect(isLooping({ ...loop, count: 1, most: 1, waiting: 1 }, NOW_MS)).toBe(false);
    expect(isLooping({ ...loop, count: 100, most: 1 }, NOW_MS)).toBe(false);
  });

  it('in words', () => {
    const text = (count: number, lastExit: Outcome['exit'] | null) =>
      restartsText({ ...NO_RESTARTS, count, lastExit: lastExit ?? null });
    expect([
      text(1, { code: 0 }),
      text(2, { signal: 'SIGKILL' }),
      text(3, { lost: 'host-reboot' }),
      text(4, null),
    ]).toEqual([
      '1 time, last exit 0',
      '2 times, last SIGKILL',
      '3 times, last lost: host-reboot',
      '4 times',
    ]);
  });
});
