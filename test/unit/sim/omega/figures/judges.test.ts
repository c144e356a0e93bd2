import { expect, test } from 'vitest';
import { FIGURES } from '../../../../../sim/omega/omega.ts';
import type { CurveResult, PointAt, Comparison } from '../../../../../sim/omega/figures/figures.ts';
import type { PointResult } from '../../../../../sim/omega/point/result.ts';

/** What a judge may look at of one class in one run. */
interface Measured {
  readonly fraction?: number;
  readonly busyness?: number;
  readonly occupied?: number;
  readonly plain?: number;
  readonly wait?: number;
  readonly abandoned?: number;
}

const series = (value: number) => ({ median: value, deviation: 0, mean: value, slices: [value] });

function schedulerOf(
  work: string,
  { fraction = 0, busyness = 0.1, occupied = busyness, plain = 0.1 }: Measured,
) {
  const counts = { succeeded: 1_000, failed: 1_000 * fraction, conflictFraction: fraction };
  return {
    ...counts,
    work,
    busyness: series(busyness),
    occupied: series(occupied),
    noConflictBusyness: plain,
  };
}

function classOf(work: string, { wait = 0.1, abandoned = 0 }: Measured) {
  return {
    work,
    submitted: 1_000,
    placed: 1_000,
    waiting: 0,
    abandoned,
    waitMean: wait,
    tasksSubmitted: 1_000,
  };
}

function point(x: number, batch: Measured, service: Measured): PointAt {
  const result = {
    spec: { horizonSeconds: 86_400, decision: { batch: { taskSeconds: 0.005 } } },
    schedulers: [schedulerOf('batch', batch), schedulerOf('service', service)],
    classes: [classOf('batch', batch), classOf('service', service)],
  };
  return { x, result: result as unknown as PointResult };
}

const curve = (points: readonly PointAt[], label = 'A'): CurveResult => ({ label, cell: 'A', points });

/** The judge's word on the statement that contains the text. */
function judged(id: string, statement: string, curves: readonly CurveResult[]): Comparison {
  const found = FIGURES.find((figure) => figure.id === id)
    ?.judge(curves)
    .find(({ paper }) => paper.includes(statement));
  if (found === undefined) throw new Error(`figure ${id} judges nothing about ${statement}`);
  if (found.agrees !== 'agrees') expect(found.why).not.toBe('');
  return found;
}

const swept = (
  xs: readonly number[],
  values: readonly number[],
  of: (value: number) => [Measured, Measured],
) => curve(xs.map((x, at) => point(x, ...of(values[at] ?? 0))));
const serviceFractions = (values: readonly number[]) =>
  swept([1, 10, 100].slice(0, values.length), values, (fraction) => [{}, { fraction }]);

test.each([
  ['5c', 'longer service decisions meet more conflicts'],
  ['12', 'the conflict fraction grows with the service decision time'],
])('figure %s: %s agrees with a rising curve only', (id, statement) => {
  const of = (values: readonly number[]) => judged(id, statement, [serviceFractions(values)]).agrees;
  expect(of([0.1, 0.3, 0.9])).toBe('agrees');
  expect(of([0.3, 0.1, 0.9])).toBe('partly');
  expect(of([0.9, 0.3, 0.1])).toBe('differs');
  expect(of([0.3, 0.3, 0.3])).toBe('differs');
  expect(of([0, 0, 0])).toBe('differs');
  expect(of([0.3])).toBe('not measured');
});

test('figure 5c: batch waits that follow the service decisions are not independent', () => {
  const of = (values: readonly number[]) =>
    judged('5c', 'do not depend', [swept([1, 10, 100], values, (wait) => [{ wait }, {}])]).agrees;
  expect(of([1, 1, 1])).toBe('agrees');
  expect(of([1, 2, 5])).toBe('differs');
});

test('figure 9: conflicts rise and busyness falls with the number of schedulers, or it differs', () => {
  const curves = (fractions: readonly number[], busyness: readonly number[]) =>
    fractions.map((fraction, at) =>
      curve([point(1, { fraction, busyness: busyness[at] ?? 0 }, {})], `${String(2 ** at)} x`),
    );
  const of = (fractions: readonly number[], busyness: readonly number[]) =>
    ['conflict fraction grows', 'less busy with 32'].map(
      (text) => judged('9', text, curves(fractions, busyness)).agrees,
    );
  expect(of([0.1, 0.2, 0.4], [0.9, 0.5, 0.3])).toEqual(['agrees', 'agrees']);
  expect(of([0.4, 0.2, 0.1], [0.3, 0.5, 0.9])).toEqual(['differs', 'differs']);
  expect(of([0.2, 0.1, 0.4], [0.5, 0.9, 0.3])).toEqual(['partly', 'partly']);
  expect(of([0.1, 0.2, 0.4], [1, 1, 1])).toEqual(['not measured', 'not measured']);
});

test('figure 7: a sweep that ends early shows what it shows, and is no proof that the rest does not come', () => {
  const whole = [0.1, 10, 100];
  const busier = (xs: readonly number[], ratio: number) =>
    judged('7', 'far busier', [swept(xs, xs, () => [{ occupied: 0.1 * ratio, plain: 0.1 }, {}])]);
  expect(busier(whole, 3).agrees).toBe('agrees');
  expect(busier(whole, 1.5).agrees).toBe('partly');
  expect(busier(whole, 1).agrees).toBe('differs');
  expect(busier(whole, 0.3).agrees).toBe('differs');
  expect(busier([0.1, 10], 3).agrees).toBe('agrees');
  expect(busier([0.1, 10], 1)).toMatchObject({
    agrees: 'not measured',
    why: 'the sweep does not reach it: it ends at 10 s, the figure’s own at 100 s',
  });
  expect(busier([0.1, 10], 0.3).agrees).toBe('differs');
  const givenUp = (xs: readonly number[], abandoned: number) =>
    judged('7', 'given up', [swept(xs, xs, () => [{ abandoned }, {}])]).agrees;
  expect(givenUp(whole, 5)).toBe('agrees');
  expect(givenUp(whole, 0)).toBe('differs');
  expect(givenUp([0.1, 10], 0)).toBe('not measured');
});

test('figure 8: a scheduler that is full elsewhere differs; one that the sweep does not fill is not measured', () => {
  const of = (xs: readonly number[], fullFrom: number) =>
    judged('8', 'saturates at', [swept(xs, xs, (x) => [{ busyness: x >= fullFrom ? 1 : 0.5 }, {}])]).agrees;
  expect(of([1, 2, 2.5, 3], 2.5)).toBe('agrees');
  expect(of([1, 2, 4, 8], 8)).toBe('differs');
  expect(of([1, 2], 8)).toBe('not measured');
});

test('figure 13: three schedulers bear about three times as much, and not less', () => {
  const xs = [0.1, 1, 3, 9];
  const full = (from: number) => swept(xs, xs, (x) => [{ busyness: x >= from ? 1 : 0.5 }, {}]);
  const of = (one: number, three: number) => judged('13', 'three', [full(one), full(three)]).agrees;
  expect(of(1, 3)).toBe('agrees');
  expect(of(1, 9)).toBe('partly');
  expect(of(3, 1)).toBe('differs');
  expect(of(1, 99)).toBe('not measured');
});

test('figures 5a and 5b: waits explode and stay behind slow decisions, or it differs', () => {
  const xs = [0.1, 1, 10];
  const explodes = (last: number, busyness = 1) =>
    judged('5a', 'explodes', [
      swept(xs, xs, (x) => [x === 10 ? { busyness, plain: busyness, wait: last } : { wait: 1 }, {}]),
    ]).agrees;
  expect(explodes(5_000)).toBe('agrees');
  expect(explodes(0.01)).toBe('differs');
  expect(explodes(5_000, 0.5)).toBe('not measured');
  const blocks = (waits: readonly number[]) =>
    judged('5b', 'head-of-line', [swept(xs, waits, (wait) => [{ wait }, {}])]).agrees;
  expect(blocks([1, 2, 5])).toBe('agrees');
  expect(blocks([1, 1, 1.5])).toBe('partly');
  expect(blocks([5, 2, 1])).toBe('differs');
});
