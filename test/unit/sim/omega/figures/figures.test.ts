import { expect, test } from 'vitest';
import { FIGURE_NAMES, FIGURES, figuresNamed } from '../../../../../sim/omega/omega.ts';
import type { CurveResult, FigureSettings } from '../../../../../sim/omega/figures/figures.ts';
import { number, saturation } from '../../../../../sim/omega/figures/measures.ts';
import { drawnJobs } from '../../../../../sim/omega/workload/drawn-jobs.ts';
import { CELLS, closerToLife } from '../../../../../sim/omega/workload/cells.ts';
import { runPoint } from '../../../../../sim/omega/point/point.ts';
import { median, medianDeviation, percentile } from '../../../../../sim/omega/model/statistics.ts';
import { seededRandom } from '../../../../../src/core/random/random.ts';

const SETTINGS: FigureSettings = { seed: 1, arrivalScale: 1 };

test('every name of a figure leads to its experiments', () => {
  for (const name of FIGURE_NAMES) expect(figuresNamed(name).length, name).toBeGreaterThan(0);
  expect(figuresNamed('5').map(({ id }) => id)).toEqual(['5a', '5b', '5c']);
  expect(figuresNamed('6b').map(({ id }) => id)).toEqual(['5b']);
  expect(figuresNamed('1')).toEqual([]);
});

test('figures run at full size: whole cells, and as many days as the paper', () => {
  for (const figure of FIGURES) {
    for (const { points, cell } of figure.curves(SETTINGS)) {
      expect(points.length).toBeGreaterThanOrEqual(figure.shows === 'speed-ups' ? 1 : 4);
      for (const { spec } of points) {
        const hosts = spec.cell.hosts.reduce((sum, { count }) => sum + count, 0);
        expect(hosts).toBeGreaterThanOrEqual(cell === 'D' ? 2_500 : 9_990);
        expect([86_400, 7 * 86_400]).toContain(spec.horizonSeconds);
      }
    }
  }
});

test('the cells meet what the paper tells of them: load of one scheduler, share of batch jobs, gaps', () => {
  const busy = { A: 1 / 2.5, B: 1 / 6, C: 1 / 9.5 };
  for (const name of ['A', 'B', 'C'] as const) {
    const source = drawnJobs(CELLS[name].load, seededRandom(5), 1, { batch: 1, service: 1 });
    let [batch, tasks, service, last] = [0, 0, 0, 0];
    for (let i = 0; i < 30_000; i++) {
      const job = source.next()!;
      last = job.submitSeconds;
      if (job.work === 'service') service += 1;
      else {
        batch += 1;
        tasks += job.tasks;
      }
    }
    expect((0.1 * batch + 0.005 * tasks) / last).toBeCloseTo(busy[name], 1);
    expect(batch / (batch + service)).toBeGreaterThan(0.8);
    const p80 = (seconds: number): number => seconds * Math.log(5);
    expect(p80(last / batch)).toBeGreaterThan(3.9);
    expect(p80(last / batch)).toBeLessThan(7);
    expect(p80(last / service)).toBeGreaterThan(110);
    expect(p80(last / service)).toBeLessThan(900);
  }
});

test('a run begins at about 60 % of the cpu, and stays there when little is added', () => {
  const { cell, load } = closerToLife(CELLS.C);
  const point = figuresNamed('13')[0]!.curves(SETTINGS)[0]!.points[0]!.spec;
  const result = runPoint({ ...point, cell, load, horizonSeconds: 1800 });
  expect(result.cpuUse.slices[0]).toBeGreaterThan(0.58);
  expect(result.cpuUse.slices[0]).toBeLessThan(0.63);
});

test('each figure judges what it ran, and says why where it differs', () => {
  for (const figure of FIGURES) {
    const curves = figure.curves({ ...SETTINGS, horizonSeconds: 300, values: [1, 10] });
    const results = curves.slice(0, 6).map(({ label, cell, points }): CurveResult => ({
      ...{ label, cell },
      points: points.map(({ x, spec }) => ({ x, result: runPoint({ ...spec, cell: small(spec.cell) }) })),
    }));
    const verdicts = figure.judge(results);
    expect(verdicts.length, figure.id).toBeGreaterThan(0);
    for (const { agrees, why, ours } of verdicts) {
      expect(ours).not.toMatch(/NaN|undefined|null/);
      if (agrees !== 'agrees') expect(why).not.toBe('');
    }
  }
});

type Cell = (typeof CELLS)['A']['cell'];
const small = (cell: Cell): Cell => ({ ...cell, hosts: cell.hosts.map((kind) => ({ ...kind, count: 200 })) });

test('saturation lies between the last point that keeps up and the first that does not', () => {
  expect(saturation({ label: '', cell: 'A', points: [] }, 'batch')).toEqual({ from: 0, to: Infinity });
});

test('medians, deviations and percentiles', () => {
  expect(median([5, 1, 3])).toBe(3);
  expect(medianDeviation([1, 1, 2, 2, 4, 6, 9])).toBe(1);
  expect(percentile([4, 1, 2, 3, 5], 0.9)).toBeCloseTo(4.6);
  expect(percentile([], 0.5)).toBeNull();
});

test('numbers for people', () => {
  expect([0.0823, 12_345.6, 123.4, 7.3e-12].map(number)).toEqual(['0.082', '12,346', '123', '0']);
});
