import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { IdleWarmUpParts } from '../../../../schedulers/warmup/idle-warmup.ts';
import { warmUpWhenIdle, PAUSE_POLL_MS } from '../../../../schedulers/warmup/idle-warmup.ts';
import type { Clock } from '../../../../src/ports/clock.ts';
import { WatchedRehearsal } from '../../../support/watched-rehearsal.ts';

let watched: WatchedRehearsal;
/** Replies and messages that the warm-up waited for. */
let asked: number;
/** Of the real scheduler. */
let work: { isBusy: boolean; committed: number };
/** Added to the time, as if it had passed. */
let laterMs: number;
/** Replies and messages held at once: more seconds than the warm-up pauses for. */
const WAITING = 10;
const never = new AbortController().signal;

// A warm-up is work for the processor, which other test files may need as well.
vi.setConfig({ testTimeout: 60_000 });

beforeEach(() => {
  watched = new WatchedRehearsal();
  asked = 0;
  work = { isBusy: false, committed: 0 };
  laterMs = 0;
});

/** @param onStanding called when it pauses, and at each poll whether the work is done */
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

/** Real work begins as soon as the first store of the warm-up is made. */
function busyFromTheStart(all: IdleWarmUpParts): IdleWarmUpParts {
  return {
    ...all,
    makeStore: (mayGoOn) => {
      work.isBusy = watched.stores === 0;
      return all.makeStore(mayGoOn);
    },
  };
}

describe('a warm-up in idle time', () => {
  it('places every job when there is nothing else to do, and leaves nothing behind', async () => {
    expect(await warmUpWhenIdle(parts(), never)).toBe(120);
    expect(watched.stores).toBe(2);
    expect(watched.open).toBe(0);
    expect(watched.timers).toBe(0);
  });

  it('pauses while there is real work, and continues after it', async () => {
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

  it('ends when real work lasts for long', async () => {
    const all = busyFromTheStart(parts(() => (laterMs += 1_000)));
    expect(await warmUpWhenIdle(all, never)).toBeLessThan(120);
    expect(work.isBusy).toBe(true);
    expect(watched.open).toBe(0);
    expect(watched.timers).toBe(0);
  });

  it('counts the time of a pause once, however many answers it holds', async () => {
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

  it('ends with its scheduler: before it begins, and during a pause', async () => {
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
