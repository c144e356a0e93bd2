import { scaleBand } from 'd3-scale';
import type { Axis, CurveResult } from '../../../../sim/omega/figures/figures.ts';
import { busynessOf } from '../../../../sim/omega/figures/measures.ts';
import { leavesWork } from '../../../../sim/omega/figures/surfaces.ts';
import { amount, escape } from './plot.ts';

/** A surface seen from above. */
export interface Heat {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly cells: readonly HeatCell[];
}

interface HeatCell {
  readonly x: number;
  readonly y: number;
  /** 0 to 1: how deep its colour is. */
  readonly depth: number;
  readonly framed: boolean;
}

const WIDTH = 460;
const HEIGHT = 270;
const MARGIN = { left: 62, right: 14, top: 30, bottom: 44 };
/** The palest cell differs from the background, and the number on the deepest can be read. */
const OPACITY = { least: 0.06, most: 0.7 };

/** One for each surface of the figure. */
export function heatsOf(axis: Axis, rows: Axis, curves: readonly CurveResult[]): Heat[] {
  const surfaces = [...new Set(curves.flatMap(({ row }) => row?.surface ?? []))];
  return surfaces.map((surface) => ({
    title: `Busyness, ${surface}`,
    xLabel: axis.label,
    yLabel: rows.label,
    cells: curves.flatMap(({ row, points }) =>
      row?.surface !== surface
        ? []
        : points.map((point) => ({
            ...{ x: point.x, y: row.y, framed: leavesWork(point) },
            depth: busynessOf(point.result, 'service'),
          })),
    ),
  }));
}

export function heatSvg({ title, xLabel, yLabel, cells }: Heat): string {
  const xs = scaleBand([...new Set(cells.map(({ x }) => x))], [MARGIN.left, WIDTH - MARGIN.right]).padding(
    0.06,
  );
  const ys = scaleBand([...new Set(cells.map(({ y }) => y))], [HEIGHT - MARGIN.bottom, MARGIN.top]).padding(
    0.06,
  );
  const [wide, high] = [xs.bandwidth(), ys.bandwidth()];
  const boxes = cells.map(({ x, y, depth, framed }) => {
    const [left, top] = [xs(x) ?? 0, ys(y) ?? 0];
    const place = `x="${left.toFixed(1)}" y="${top.toFixed(1)}" width="${wide.toFixed(1)}" height="${high.toFixed(1)}"`;
    const opacity = OPACITY.least + (OPACITY.most - OPACITY.least) * Math.min(1, depth);
    return (
      `<rect class="heat" ${place} fill-opacity="${opacity.toFixed(2)}"/>${framed ? `<rect class="lost" ${place}/>` : ''}` +
      `<text class="heat-label" x="${(left + wide / 2).toFixed(1)}" y="${(top + high / 2).toFixed(1)}" dy="0.35em" text-anchor="middle">${depth.toFixed(2)}</text>`
    );
  });
  const ticks = [
    ...xs
      .domain()
      .map((x) => tick((xs(x) ?? 0) + wide / 2, HEIGHT - MARGIN.bottom + 15, 'middle', amount(x))),
    ...ys.domain().map((y) => tick(MARGIN.left - 6, (ys(y) ?? 0) + high / 2 + 4, 'end', amount(y))),
  ];
  const turned = `translate(14 ${String((MARGIN.top + HEIGHT - MARGIN.bottom) / 2)}) rotate(-90)`;
  const labels =
    `<text class="title" x="${String(MARGIN.left)}" y="18">${escape(title)}</text>` +
    `<text class="label" x="${String((MARGIN.left + WIDTH - MARGIN.right) / 2)}" y="${String(HEIGHT - 8)}" text-anchor="middle">${escape(xLabel)}</text>` +
    `<text class="label" transform="${turned}" text-anchor="middle">${escape(yLabel)}</text>`;
  const size = `viewBox="0 0 ${String(WIDTH)} ${String(HEIGHT)}"`;
  return `<svg ${size} role="img" aria-label="${escape(title)}">${labels}${ticks.join('')}${boxes.join('')}</svg>`;
}

function tick(x: number, y: number, anchor: string, text: string): string {
  return `<text class="tick" x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${text}</text>`;
}
