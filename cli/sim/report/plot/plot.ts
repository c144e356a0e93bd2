/**
 * Plots as SVG. This file draws lines over two axes. `panels.ts` makes such plots of a figure's curves, `elastic.ts` those of the
 * elastic jobs; `heat.ts` draws a surface seen from above. Colours are classes, so that the page decides on light or dark.
 */
import { extent } from 'd3-array';
import { scaleLinear, scaleLog } from 'd3-scale';
import { line } from 'd3-shape';

/** One line of a plot. */
export interface PlotSeries {
  readonly label: string;
  /** What the dashes stand for; empty: there is only one kind of line. */
  readonly meaning: string;
  /** Which colour of the palette. */
  readonly colour: number;
  readonly dash: 'solid' | 'dashed' | 'dotted';
  /** Marks at the points; without them only the line. */
  readonly marks: boolean;
  readonly points: readonly PlotPoint[];
}

export interface PlotPoint {
  readonly x: number;
  readonly y: number;
  /** Half the length of the error bar. */
  readonly deviation?: number;
}

export interface Plot {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly xLog: boolean;
  readonly yLog: boolean;
  /** The axis reaches at least so far. */
  readonly yMost?: number;
  readonly series: readonly PlotSeries[];
  /** A level worth seeing, with what it is. */
  readonly rule?: { readonly y: number; readonly label: string };
}

const WIDTH = 460;
const HEIGHT = 270;
const MARGIN = { left: 62, right: 14, top: 30, bottom: 44 };
/** A logarithmic axis has no zero: what is below this is drawn on its floor. */
const LOG_FLOOR = 0.01;
const TICKS = 5;

type Scale = ((value: number) => number) & { ticks(count?: number): number[]; domain(): number[] };

export function plotSvg(plot: Plot): string {
  const x = scaleOf(
    plot.series.flatMap(({ points }) => points.map((point) => point.x)),
    plot.xLog,
    [MARGIN.left, WIDTH - MARGIN.right],
  );
  const y = yScale(plot);
  const parts = [
    `<text class="title" x="${String(MARGIN.left)}" y="18">${escape(plot.title)}</text>`,
    axisX(plot, x),
    axisY(plot, y),
    ruleLine(plot, y),
    ...plot.series.map((series) => drawSeries(series, plot, x, y)),
  ];
  const size = `viewBox="0 0 ${String(WIDTH)} ${String(HEIGHT)}"`;
  return `<svg ${size} role="img" aria-label="${escape(plot.title)}">${parts.join('')}</svg>`;
}

function scaleOf(values: readonly number[], log: boolean, range: [number, number]): Scale {
  const [least = 0, most = 1] = extent(values) as [number | undefined, number | undefined];
  if (log) return scaleLog([Math.max(LOG_FLOOR, least), Math.max(LOG_FLOOR * 10, most)], range);
  return scaleLinear([Math.min(0, least), most === least ? most + 1 : most], range);
}

function yScale({ series, yLog, yMost, rule }: Plot): Scale {
  const tops = series.flatMap(({ points }) => points.map((point) => point.y + (point.deviation ?? 0)));
  const most = Math.max(yMost ?? 0, rule?.y ?? 0, ...tops, yLog ? LOG_FLOOR * 100 : 1e-6);
  const range: [number, number] = [HEIGHT - MARGIN.bottom, MARGIN.top];
  return yLog ? scaleLog([LOG_FLOOR, most], range).nice() : scaleLinear([0, most], range).nice(TICKS);
}

function axisX(plot: Plot, x: Scale): string {
  const bottom = HEIGHT - MARGIN.bottom;
  const ticks = ticksOf(x, plot.xLog).map((tick) => {
    const at = fixed(x(tick));
    return (
      `<line class="grid" x1="${at}" x2="${at}" y1="${String(MARGIN.top)}" y2="${String(bottom)}"/>` +
      `<text class="tick" x="${at}" y="${String(bottom + 15)}" text-anchor="middle">${amount(tick)}</text>`
    );
  });
  const middle = (MARGIN.left + WIDTH - MARGIN.right) / 2;
  return (
    ticks.join('') +
    `<line class="axis" x1="${String(MARGIN.left)}" x2="${String(WIDTH - MARGIN.right)}" y1="${String(bottom)}" y2="${String(bottom)}"/>` +
    `<text class="label" x="${String(middle)}" y="${String(HEIGHT - 8)}" text-anchor="middle">${escape(plot.xLabel)}</text>`
  );
}

function axisY(plot: Plot, y: Scale): string {
  const ticks = ticksOf(y, plot.yLog).map((tick) => {
    const at = fixed(y(tick));
    const text = plot.yLog && tick <= LOG_FLOOR ? `≤${amount(tick)}` : amount(tick);
    return (
      `<line class="grid" x1="${String(MARGIN.left)}" x2="${String(WIDTH - MARGIN.right)}" y1="${at}" y2="${at}"/>` +
      `<text class="tick" x="${String(MARGIN.left - 6)}" y="${at}" dy="0.32em" text-anchor="end">${text}</text>`
    );
  });
  const middle = (MARGIN.top + HEIGHT - MARGIN.bottom) / 2;
  const turned = `translate(14 ${String(middle)}) rotate(-90)`;
  return `${ticks.join('')}<text class="label" transform="${turned}" text-anchor="middle">${escape(plot.yLabel)}</text>`;
}

/** On a logarithmic axis whole powers of ten, as far as there are enough of them. */
function ticksOf(scale: Scale, log: boolean): number[] {
  if (!log) return scale.ticks(TICKS);
  const all = scale.ticks();
  const powers = all.filter((tick) => Math.abs(Math.log10(tick) - Math.round(Math.log10(tick))) < 1e-9);
  return powers.length >= 2 ? powers : all.filter((_, at) => at % 2 === 0);
}

function ruleLine({ rule }: Plot, y: Scale): string {
  if (rule === undefined) return '';
  const at = fixed(y(rule.y));
  const right = String(WIDTH - MARGIN.right);
  return (
    `<line class="rule" x1="${String(MARGIN.left)}" x2="${right}" y1="${at}" y2="${at}"/>` +
    `<text class="rule-label" x="${right}" y="${at}" dy="-4" text-anchor="end">${escape(rule.label)}</text>`
  );
}

function drawSeries(series: PlotSeries, plot: Plot, x: Scale, y: Scale): string {
  const floor = plot.yLog ? LOG_FLOOR : -Infinity;
  const atY = (value: number): number => y(Math.max(floor, value));
  const points = series.points.filter((point) => Number.isFinite(point.y));
  const path = line<PlotPoint>(
    (point) => x(point.x),
    (point) => atY(point.y),
  )(points);
  const bars = points.flatMap(({ x: at, y: value, deviation }) =>
    deviation === undefined || deviation === 0
      ? []
      : [
          `<path class="bar" d="M${fixed(x(at))} ${fixed(atY(value - deviation))}V${fixed(atY(value + deviation))}"/>`,
        ],
  );
  const marks = series.marks
    ? points.map(
        (point) =>
          `<circle cx="${fixed(x(point.x))}" cy="${fixed(atY(point.y))}" r="3"><title>${escape(series.label)}: ` +
          `${amount(point.y)} at ${amount(point.x)}</title></circle>`,
      )
    : [];
  return `<g class="c${String(series.colour)} ${series.dash}"><path class="line" d="${path ?? ''}"/>${bars.join('')}${marks.join('')}</g>`;
}

const fixed = (value: number): string => value.toFixed(1);

/** Three digits that matter, and no long rows of zeros. */
export function amount(value: number): string {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e6) return `${String(Number((value / 1e6).toPrecision(3)))}M`;
  if (size >= 10_000) return `${String(Number((value / 1e3).toPrecision(3)))}k`;
  return String(Number(value.toPrecision(3)));
}

export function escape(text: string): string {
  const names: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replaceAll(/[&<>"]/g, (char) => names[char] ?? char);
}
