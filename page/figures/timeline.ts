import type { Allocation } from '../../src/core/cell/allocation.ts';
import { timeOfId } from '../../src/core/cell/ids.ts';
import type { JobStatus } from '../../src/wire/api/monitor-api.ts';

/** One allocation in time. */
export interface Span {
  readonly id: string;
  readonly slot: string;
  readonly version: number;
  readonly host: string;
  /** When it was placed. */
  readonly placedAtMs: number;
  /** null: it has not started, or never did. */
  readonly startedAtMs: number | null;
  /** null: it is there. */
  readonly endedAtMs: number | null;
  readonly state: string;
}

export interface Timeline {
  readonly fromMs: number;
  readonly toMs: number;
  /** The newest first. */
  readonly spans: readonly Span[];
}

/** A job's allocations, those that are there and those that have ended, over the time of all of them. */
export function timelineOf(
  { allocations, outcomes }: Pick<JobStatus, 'allocations' | 'outcomes'>,
  nowMs: number,
): Timeline {
  const there = allocations.map(({ allocation, report }): Span => ({
    ...{ id: allocation.id, slot: slotOf(allocation), version: allocation.jobVersion, host: allocation.host },
    ...{ placedAtMs: allocation.createdAtMs, startedAtMs: report?.startedAtMs ?? null },
    ...{ endedAtMs: report?.endedAtMs ?? null, state: report?.state ?? 'placed' },
  }));
  const ended = outcomes.map((outcome): Span => {
    const { allocation: id, startedAtMs = null, endedAtMs, jobVersion, host, state } = outcome;
    const placedAtMs = Math.min(timeOfId(id) ?? endedAtMs, startedAtMs ?? endedAtMs);
    const span = { id, slot: slotOf(outcome), version: jobVersion, host, state };
    return { ...span, placedAtMs, startedAtMs, endedAtMs };
  });
  const spans = [...there, ...ended].sort((a, b) => b.placedAtMs - a.placedAtMs || a.id.localeCompare(b.id));
  const fromMs = spans.reduce((least, { placedAtMs }) => Math.min(least, placedAtMs), nowMs);
  const toMs =
    there.length > 0 ? nowMs : spans.reduce((most, span) => Math.max(most, span.endedAtMs ?? 0), 0);
  return { fromMs, toMs: Math.max(toMs, fromMs + 1), spans };
}

function slotOf({ group, index }: Pick<Allocation, 'group' | 'index'>): string {
  return `${group}[${String(index)}]`;
}

/** A part of the whole time, as left edge and width from 0 to 1. */
export interface Part {
  readonly left: number;
  readonly width: number;
}

/** How long it waited for its start, and how long it ran. null: it did not. */
export function partsOf(
  { placedAtMs, startedAtMs, endedAtMs }: Span,
  { fromMs, toMs }: Timeline,
): { readonly waited: Part | null; readonly ran: Part | null } {
  const end = endedAtMs ?? toMs;
  const part = (first: number, last: number): Part => {
    const at = (ms: number): number => Math.min(1, Math.max(0, (ms - fromMs) / (toMs - fromMs)));
    return { left: at(first), width: at(last) - at(first) };
  };
  const start = startedAtMs ?? end;
  return {
    waited: start > placedAtMs ? part(placedAtMs, start) : null,
    ran: startedAtMs === null ? null : part(startedAtMs, Math.max(startedAtMs, end)),
  };
}
