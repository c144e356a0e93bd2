import { beforeEach, describe, expect, it } from 'vitest';
import { HostQueries, silentLast } from '../../../../schedulers/preemption/host-queries.ts';
import type { AllocationReport } from '../../../../src/core/host/report.ts';
import { StoreError } from '../../../../src/ports/cell-store.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const FAILURE = new StoreError('timeout', 'the store did not answer', { retryable: true });

describe('HostQuestions', () => {
  let clock: ManualClock;
  let questions: HostQueries;
  let failures: unknown[];
  /** How each question ends. */
  let ends: Map<string, { readonly answer: () => void; readonly fail: () => void }>;
  let answered: string[];

  beforeEach(() => {
    clock = new ManualClock();
    failures = [];
    ends = new Map();
    answered = [];
    const runningOn = (host: string): Promise<readonly AllocationReport[]> =>
      new Promise((resolve, reject) =>
        ends.set(host, { answer: () => resolve([]), fail: () => reject(FAILURE) }),
      );
    const error = (fields: Readonly<Record<string, unknown>>): void => void failures.push(fields['error']);
    questions = new HostQueries({ clock, log: { error }, victims: { runningOn } });
  });

  const ask = (host: string): void => questions.ask(host, () => answered.push(host));

  it('who waits hears of the first answer, of what is late, and of the end of his time', async () => {
    ask('a');
    ask('b');
    const first = questions.next(10_000);
    ends.get('a')?.answer();
    await first;
    expect([answered, questions.open, questions.onTime]).toEqual([['a'], 1, 1]);
    const late = questions.next(10_000);
    await clock.advance(200);
    await late;
    expect([questions.open, questions.onTime]).toEqual([1, 0]);
    const over = questions.next(1_000);
    await clock.advance(800);
    await over;
    ends.get('b')?.answer();
    await clock.advance(0);
    expect([answered, questions.open]).toEqual([['a', 'b'], 0]);
  });

  it('the next wait throws what a query failed with before it', async () => {
    ask('a');
    ends.get('a')?.fail();
    await clock.advance(0);
    expect(questions.isAsked('a')).toBe(false);
    ask('b');
    await expect(questions.next(10_000)).rejects.toBe(FAILURE);
    questions.end();
    expect(failures).toEqual([]);
  });

  it('a query that fails after the end is logged', async () => {
    ask('a');
    ask('b');
    ends.get('a')?.fail();
    await clock.advance(0);
    questions.end();
    expect(failures).toEqual([FAILURE]);
    ends.get('b')?.fail();
    await clock.advance(0);
    expect(failures).toEqual([FAILURE, FAILURE]);
    expect(clock.pending).toBe(0);
  });

  it('answers after the end are dropped', async () => {
    ask('a');
    questions.end();
    ends.get('a')?.answer();
    await clock.advance(0);
    expect(answered).toEqual([]);
  });
});

describe('silentLast', () => {
  const find =
    (hosts: readonly string[]) =>
    (isPassed: (host: string) => boolean): string | undefined =>
      hosts.find((host) => !isPassed(host));
  const isSilent = (host: string): boolean => host.startsWith('silent');

  it('names a silent host only as the last resort', () => {
    expect(silentLast(isSilent, true, find(['silent-1', 'h']))).toBe('h');
    expect(silentLast(isSilent, true, find(['silent-1']))).toBe('silent-1');
    expect(silentLast(isSilent, false, find(['silent-1']))).toBeUndefined();
    expect(silentLast(isSilent, true, find([]))).toBeUndefined();
  });
});
