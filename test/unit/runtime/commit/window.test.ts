import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CommitWindow } from '../../../../src/runtime/commit/window.ts';

const MAX = 8;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * Schedulers that share a store which takes so many transactions a second; nothing is answered sooner than `leastMs`, as
 * they know of a small transaction.
 */
function contend(
  windows: readonly CommitWindow[],
  perSecond: number,
  leastMs: number,
  rounds: number,
): number {
  let tookMs = 0;
  for (const window of windows) window.answered(leastMs, false);
  for (let round = 0; round < rounds; round++) tookMs = answerAll(windows, perSecond, leastMs);
  return tookMs;
}

/** All that is under way is answered once. @returns how long it took */
function answerAll(windows: readonly CommitWindow[], perSecond: number, leastMs: number): number {
  const underWay = windows.reduce((all, one) => all + one.transactions, 0);
  const tookMs = Math.max(leastMs, (underWay / perSecond) * 1000);
  for (const window of windows)
    for (let n = 0; n < Math.floor(window.transactions); n++) window.answered(tookMs, true);
  return tookMs;
}

describe('how many transactions are under way', () => {
  it('begins with all, and keeps them while the store answers at once', () => {
    const window = new CommitWindow(MAX);
    expect(window.transactions).toBe(MAX);
    for (let n = 0; n < 100; n++) window.answered(0, true);
    expect(window.transactions).toBe(MAX);
  });

  it('sends less to a store that slows down, and more again when it is as it was', () => {
    const windows = [new CommitWindow(MAX)];
    contend(windows, 1_000, 1, 50);
    expect(windows[0]?.transactions).toBe(MAX);
    contend(windows, 50, 1, 200);
    expect(windows[0]?.transactions).toBeLessThan(4);
    contend(windows, 1_000, 1, 200);
    expect(windows[0]?.transactions).toBe(MAX);
  });

  it('takes the time of a store far away for what it is', () => {
    const window = new CommitWindow(MAX);
    contend([window], 1_000, 200, 200);
    expect(window.transactions).toBe(MAX);
  });

  it('halves with every transaction without an answer, down to two', () => {
    const window = new CommitWindow(MAX);
    const seen = [1, 2, 3].map((atMs) => {
      window.unanswered(atMs, atMs + 0.5);
      return window.transactions;
    });
    expect(seen).toEqual([4, 2, 2]);
  });

  it('halves once for all that one broken connection cut off, and again for what was sent after it', () => {
    const window = new CommitWindow(MAX);
    for (let n = 0; n < MAX; n++) window.unanswered(n, MAX + n);
    expect(window.transactions).toBe(4);
    window.unanswered(MAX + 1, 3 * MAX);
    expect(window.transactions).toBe(2);
  });

  it('is one where no more than one is allowed', () => {
    const window = new CommitWindow(1);
    window.unanswered(0, 1);
    for (let n = 0; n < 100; n++) window.answered(1_000, true);
    expect(window.transactions).toBe(1);
  });

  it('stays within its bounds, whatever is answered and when, be it weeks later', () => {
    const answer = fc.record({
      tookMs: fc.oneof(fc.nat(60_000), fc.nat(30 * DAY_MS)),
      afterMs: fc.oneof(fc.nat(20_000), fc.nat(60 * DAY_MS)),
      cut: fc.boolean(),
      isFull: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 64 }), fc.array(answer, { maxLength: 300 }), (max, answers) => {
        const window = new CommitWindow(max);
        let nowMs = 0;
        for (const { tookMs, afterMs, cut, isFull } of answers) {
          nowMs += afterMs;
          if (cut) window.unanswered(nowMs - tookMs, nowMs);
          else window.answered(tookMs, isFull);
          expect(window.transactions).toBeGreaterThanOrEqual(2);
          expect(window.transactions).toBeLessThanOrEqual(max);
        }
      }),
    );
  });

  it('keeps any number of schedulers from queueing, and the store from being idle', () => {
    const law = fc.property(
      fc.integer({ min: 1, max: 8 }),
      fc.integer({ min: 20, max: 2_000 }),
      fc.integer({ min: 1, max: 10 }),
      (schedulers, perSecond, leastMs) => {
        const windows = Array.from({ length: schedulers }, () => new CommitWindow(MAX));
        const tookMs = contend(windows, perSecond, leastMs, 300);
        const underWay = windows.reduce((all, one) => all + one.transactions, 0);
        const fewestMs = ((2 * schedulers) / perSecond) * 1000;
        // No window goes below two; the store's own time may be three times its least; a tenth for the swing.
        expect(tookMs).toBeLessThanOrEqual(Math.max(50, fewestMs, 3 * leastMs) * 1.1);
        // What it can answer in its least time is under way at any moment, or all that is allowed.
        expect(underWay).toBeGreaterThanOrEqual(
          Math.min((perSecond * leastMs) / 1000, schedulers * MAX) * 0.9,
        );
      },
    );
    fc.assert(law);
  });

  it.each([1, 2, 3, 4])('keeps %i schedulers from queueing for two hours of steady load', (schedulers) => {
    const windows = Array.from({ length: schedulers }, () => new CommitWindow(MAX));
    const perSecond = 120;
    contend(windows, perSecond, 3, 300);
    let mostMs = 0;
    for (let nowMs = 0; nowMs < 2 * HOUR_MS;) {
      const tookMs = answerAll(windows, perSecond, 3);
      nowMs += tookMs;
      mostMs = Math.max(mostMs, tookMs);
    }
    // No window goes below two.
    expect(mostMs).toBeLessThanOrEqual(Math.max(50, ((2 * schedulers) / perSecond) * 1000) * 1.1);
  });

  it('never sends more for a slower answer', () => {
    const times = fc.array(fc.tuple(fc.nat(500), fc.nat(500)), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(times, (pairs) => {
        const [fast, slow] = [new CommitWindow(MAX), new CommitWindow(MAX)];
        // Both know the same least from their first answer.
        for (const window of [fast, slow]) window.answered(1, false);
        for (const [tookMs, moreMs] of pairs) {
          fast.answered(tookMs + 1, true);
          slow.answered(tookMs + 1 + moreMs, true);
        }
        expect(slow.transactions).toBeLessThanOrEqual(fast.transactions);
      }),
    );
  });
});
