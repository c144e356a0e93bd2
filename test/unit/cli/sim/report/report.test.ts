import { expect, test } from 'vitest';
import { csvOf } from '../../../../../cli/sim/report/csv.ts';
import { keyOf } from '../../../../../cli/sim/sweep/task.ts';
import { heatsOf, heatSvg } from '../../../../../cli/sim/report/plot/heat.ts';
import { pageHtml } from '../../../../../cli/sim/report/report.ts';
import { panelsOf } from '../../../../../cli/sim/report/plot/panels.ts';
import { amount, plotSvg } from '../../../../../cli/sim/report/plot/plot.ts';
import { figuresNamed } from '../../../../../sim/omega/omega.ts';
import type { CurveResult } from '../../../../../sim/omega/figures/figures.ts';
import { runPoint } from '../../../../../sim/omega/point/point.ts';

const figure = figuresNamed('5c')[0]!;
const curves = figure
  .curves({ seed: 1, arrivalScale: 1, cells: ['B'], horizonSeconds: 600, values: [0.1, 1] })
  .map(({ label, cell, points }): CurveResult => ({
    ...{ label, cell },
    points: points.map(({ x, spec }) => {
      const hosts = spec.cell.hosts.map((kind) => ({ ...kind, count: 300 }));
      return { x, result: runPoint({ ...spec, cell: { ...spec.cell, hosts } }) };
    }),
  }));

test('the CSV has a title for each cell, a row for each class of each point', () => {
  const lines = csvOf('t_job', curves).trimEnd().split('\n');
  const widths = new Set(lines.map((line) => line.split(',').length));
  expect(widths.size).toBe(1);
  expect(lines[0]).toMatch(/^curve,t_job,class,/);
  expect(lines.length).toBe(
    1 + curves[0]!.points.reduce((sum, { result }) => sum + result.classes.length, 0),
  );
});

test('every plot has labelled axes with a unit or a share, and draws no point that is not a number', () => {
  const plots = panelsOf(figure.axis, figure.classes, curves);
  expect(plots.length).toBeGreaterThanOrEqual(6);
  for (const plot of plots) {
    const svg = plotSvg(plot);
    expect(plot.xLabel).toMatch(/\(s\)$/);
    expect(plot.yLabel).not.toBe('');
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
    expect(svg).toContain('<path class="line" d="M');
  }
});

test('the page loads nothing, escapes what it is given, and says when it is partial', () => {
  const html = pageHtml({
    ...{ title: 'a <b>', lead: '', partial: 'Partial: 1 of 2', footnotes: [] },
    sections: [
      {
        ...{
          id: 'x',
          title: 'T',
          setUp: '',
          curves: ['one'],
          plots: panelsOf(figure.axis, ['batch'], curves),
          notes: [],
        },
        comparisons: [{ paper: 'p', ours: '<script>', agrees: 'differs', why: 'because' }],
      },
    ],
  });
  expect(html).toContain('a &lt;b&gt;');
  expect(html).toContain('Partial: 1 of 2');
  expect(html).not.toMatch(/<script|src=|https?:/);
  expect(html).toContain('prefers-color-scheme:dark');
});

test('a point without curves draws axes and no error', () => {
  const [plot] = panelsOf(figure.axis, ['batch'], [{ label: 'none', cell: 'B', points: [] }]);
  expect(plotSvg(plot!)).not.toMatch(/NaN|undefined/);
});

test('the same run has the same key; another seed another one', () => {
  const { spec } = curves[0]!.points[0]!.result;
  expect(keyOf({ spec, trace: null })).toBe(keyOf({ spec: { ...spec }, trace: null }));
  expect(keyOf({ spec: { ...spec, seed: 2 }, trace: null })).not.toBe(keyOf({ spec, trace: null }));
});

test('amounts on axes', () => {
  expect([0, 0.012345, 1234, 123_456, 2_500_000].map(amount)).toEqual([
    '0',
    '0.0123',
    '1230',
    '123k',
    '2.5M',
  ]);
});

test('a surface: a field for each point, framed where work stays unscheduled', () => {
  const [heat] = heatsOf(
    figure.axis,
    figure.axis,
    [0.01, 1].map((y) => ({ ...curves[0]!, row: { surface: 'shared state', y } })),
  );
  expect(heat).toMatchObject({ title: 'Busyness, shared state', cells: { length: 4 } });
  const cells = heat!.cells.map((cell, at) => ({ ...cell, framed: at === 0 }));
  const svg = heatSvg({ ...heat!, cells });
  expect(svg.match(/class="lost"/g)).toHaveLength(1);
  expect(svg.match(/class="heat"/g)).toHaveLength(4);
  expect(svg).not.toMatch(/NaN|undefined/);
});
