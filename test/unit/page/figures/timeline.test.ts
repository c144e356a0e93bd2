import { expect, it } from 'vitest';
import { partsOf, timelineOf } from '../../../../page/figures/timeline.ts';
import { makeId, timeOfId } from '../../../../src/core/cell/ids.ts';
import type { JobStatus } from '../../../../src/wire/api/monitor-api.ts';
import { allocationOf } from '../../../support/monitor-world.ts';

const idAt = (ms: number): string => makeId(ms, new Uint8Array(16));
const there = (createdAtMs: number, startedAtMs: number | undefined): JobStatus['allocations'][number] => ({
  ...{ name: 'web[0]', restarts: { count: 0 } as never, asOfMs: null, stale: false },
  allocation: allocationOf('h1', idAt(createdAtMs), { createdAtMs, jobVersion: 2 }),
  report: startedAtMs === undefined ? null : ({ state: 'running', startedAtMs } as never),
});
const ended = (madeAtMs: number, startedAtMs: number | undefined, endedAtMs: number) => ({
  ...{ allocation: idAt(madeAtMs), namespace: 'default', job: 'web', jobVersion: 1, group: 'web', index: 0 },
  ...{ attempt: 1, host: 'h1', scheduler: 's1', state: 'killed', reason: '', endedAtMs, restarts: 0 },
  ...(startedAtMs === undefined ? {} : { startedAtMs }),
});

it('28 allocations stand in time from the first placement until now, the newest first', () => {
  const of = { allocations: [there(3_000, 3_500)], outcomes: [ended(1_000, 2_000, 3_000)] };
  const timeline = timelineOf(of, 5_000);
  expect([timeline.fromMs, timeline.toMs]).toEqual([1_000, 5_000]);
  expect(timeline.spans.map(({ version, placedAtMs }) => [version, placedAtMs])).toEqual([
    [2, 3_000],
    [1, 1_000],
  ]);
  const [now, before] = timeline.spans.map((span) => partsOf(span, timeline));
  expect(before).toEqual({ waited: { left: 0, width: 0.25 }, ran: { left: 0.25, width: 0.25 } });
  expect(now).toEqual({ waited: { left: 0.5, width: 0.125 }, ran: { left: 0.625, width: 0.375 } });
});

it('28 one that has not started waits, one that never did ran at no time, and clocks that differ make no part negative', () => {
  const of = { allocations: [there(2_000, undefined)], outcomes: [ended(1_000, undefined, 2_000)] };
  const timeline = timelineOf(of, 3_000);
  expect(timeline.spans.map((span) => partsOf(span, timeline).ran)).toEqual([null, null]);
  const early = timelineOf({ allocations: [there(2_000, 1_500)], outcomes: [] }, 3_000);
  const parts = partsOf(early.spans[0] as never, early);
  expect(parts.waited).toBeNull();
  expect(parts.ran).toEqual({ left: 0, width: 1 });
});

it('28 a job of which all has ended stands from its first placement to its last end', () => {
  const timeline = timelineOf({ allocations: [], outcomes: [ended(1_000, 1_000, 2_000)] }, 9_000);
  expect([timeline.fromMs, timeline.toMs]).toEqual([1_000, 2_000]);
  expect(timelineOf({ allocations: [], outcomes: [] }, 9_000).spans).toEqual([]);
});

it('28 an id tells when it was made, and what is none tells nothing', () => {
  expect(timeOfId(idAt(1_764_000_000_123))).toBe(1_764_000_000_123);
  expect([timeOfId('web'), timeOfId('0'.repeat(25)), timeOfId('l'.repeat(26))]).toEqual([null, null, null]);
});
