import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { IdleWarmUpParts } from '../../../../schedulers/warmup/idle-warmup.ts';
import { warmUpWhenIdle, PAUSE_POLL_MS } from '../../../../schedulers/warmup/idle-warmup.ts';
import type { Clock } from '../../../../src/ports/clock.ts';
import { WatchedRehearsal } from '../../../support/watched-rehearsal.ts';

let watched: WatchedRehearsal;
/** Replies and messages that the rehearsal waited for. */
let asked: number;
/** Of the real scheduler. */
let work: { isBusy: boolean; committed: number };
/** Added to the time, as if it had passed. */
let laterMs: number;
/** Replies and messages that wait at once: more seconds than it gives way for. */
const WAITING = 10;
const never = new AbortController().signal;

// A rehearsal is work for the processor, which others may need as well.
vi.setConfig({ testTimeout: 60_000 });

beforeEach(() => {
  watched = new WatchedRehearsal();
  asked = 0;
  work = { isBusy: false, committed: 0 };
  laterMs = 0;
});

/** @param onStanding called when it gives way, and between its looks whether the work is done */
function parts(onStanding: () => void = () => undefined): IdleWarmUpParts {
  const clock: Clock = {
    nowMs: () => watched.clock.nowMs(),
    monotonicMs: () => watched.clock.monotonicMs() + laterMs,
    after: (delayMs, act) => {
      if (delayMs === PAUSE_POLL_MS) onStanding();
      return watched.clock.after(delayMs, act);
    },
  };
  return {
    ...watched.parts('batch', 2, 60, clock),
    makeStore: (mayGoOn) =>
      watched.makeStore(() => {
        asked += 1;
        return mayGoOn();
      }),
    isBusy: () => work.isBusy,
    committed: () => work.committed,
  };
}

/** The first store of the rehearsal is made, and at once there is real work. */
function busyFromTheStart(all: IdleWarmUpParts): IdleWarmUpParts {
  return {
    ...all,
    makeStore: (mayGoOn) => {
      work.isBusy = watched.stores === 0;
      return all.makeStore(mayGoOn);
    },
  };
}

describe('a rehearsal in idle time', () => {
  it('places every job when there is nothing else to do, and leaves nothing behind', async () => {
    expect(await warmUpWhenIdle(parts(), never)).toBe(120);
    expect(watched.stores).toBe(2);
    expect(watched.open).toBe(0);
    expect(watched.timers).toBe(0);
  });

  it('stands still while there is real work, and goes on after it', async () => {
    const stood: number[] = [];
    const all = busyFromTheStart(
      parts(() => {
        stood.push(asked);
        if (stood.length === 5) work.isBusy = false;
      }),
    );
    expect(await warmUpWhenIdle(all, never)).toBe(120);
    expect(stood).toEqual(Array.from({ length: 5 }, () => stood[0]));
    expect(watched.open).toBe(0);
    expect(watched.timers).toBe(0);
  });

  it('ends where real work goes on for long', async () => {
    const all = busyFromTheStart(parts(() => (laterMs += 1_000)));
    expect(await warmUpWhenIdle(all, never)).toBeLessThan(120);
    expect(work.isBusy).toBe(true);
    expect(watched.open).toBe(0);
    expect(watched.timers).toBe(0);
  });

  it('counts the time for which it gives way once, however much of it waits', async () => {
    let looks = 0;
    const all = busyFromTheStart(
      parts(() => {
        looks += 1;
        if (looks === WAITING) laterMs += 1_000;
        if (looks === 2 * WAITING) work.isBusy = false;
      }),
    );
    const crowded: IdleWarmUpParts = {
      ...all,
      makeStore: (mayGoOn) => {
        const store = all.makeStore(mayGoOn);
        for (let n = 0; n < WAITING && work.isBusy; n++) void mayGoOn();
        return store;
      },
    };
    expect(await warmUpWhenIdle(crowded, never)).toBe(120);
  });

  it('is none where enough was placed already', async () => {
    work.committed = 1_000_000;
    expect(await warmUpWhenIdle(parts(), never)).toBe(0);
    expect(watched.stores).toBe(0);
  });

  it('ends with its scheduler: while it waits to begin, and while it gives way', async () => {
    const before = new AbortController();
    work.isBusy = true;
    const waiting = warmUpWhenIdle(parts(), before.signal);
    before.abort();
    expect(await waiting).toBe(0);
    work.isBusy = false;
    const amid = new AbortController();
    const all = busyFromTheStart(parts(() => amid.abort()));
    expect(await warmUpWhenIdle(all, amid.signal)).toBeLessThan(120);
    expect(watched.open).toBe(0);
    expect(watched.timers).toBe(0);
  });
});
