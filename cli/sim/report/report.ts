/**
 * The report of a simulation: one HTML file, without scripts. Plots are text made with d3's scales, since `sim` imports no
 * packages.
 *
 * - `run-page.ts` is the report of one workload; that of Omega's figures is made in `cli/sim/figures.ts`.
 * - `named-runs.ts` labels the results, `summary.ts` makes table rows of them, `csv.ts` the CSV files.
 * - `footnotes.ts` explains the words; `plot/` draws the plots.
 */
import type { Comparison } from '../../../sim/omega/figures/figures.ts';
import type { Plot } from './plot/plot.ts';
import type { Heat } from './plot/heat.ts';
import { heatSvg } from './plot/heat.ts';
import { escape, plotSvg } from './plot/plot.ts';

/** One experiment of a report. */
export interface Section {
  readonly id: string;
  readonly title: string;
  readonly setUp: string;
  /** Labels of the curves in the order of their colours. */
  readonly curves: readonly string[];
  readonly plots: readonly (Plot | Heat)[];
  readonly comparisons: readonly Comparison[];
  /** Lines under the plots: sizes, seeds, how much of it is there. */
  readonly notes: readonly string[];
  /** A table after the comparisons. */
  readonly table?: { readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] };
}

export interface Page {
  readonly title: string;
  readonly lead: string;
  /** A sentence at the top when the run was interrupted. */
  readonly partial: string | null;
  /** The findings in a line each, before the sections; absent or empty: none. */
  readonly summary?: readonly string[];
  readonly sections: readonly Section[];
  readonly footnotes: readonly string[];
}

/** The whole report as one file: no scripts, nothing to load. */
export function pageHtml(page: Page): string {
  const partial = page.partial === null ? '' : `<p class="partial">${escape(page.partial)}</p>`;
  const contents = page.sections.map(({ id, title }) => `<li><a href="#f${id}">${escape(title)}</a></li>`);
  return (
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">` +
    `<title>${escape(page.title)}</title><style>${STYLE}</style></head><body><main><h1>${escape(page.title)}</h1>` +
    `<p>${escape(page.lead)}</p>${partial}` +
    summaryHtml(page.summary ?? []) +
    (contents.length > 1 ? `<ul>${contents.join('')}</ul>` : '') +
    page.sections.map(sectionHtml).join('') +
    `<footer><h2>How it was measured</h2><ul>${page.footnotes.map((note) => `<li>${escape(note)}</li>`).join('')}</ul></footer>` +
    `</main></body></html>\n`
  );
}

const summaryHtml = (lines: readonly string[]): string =>
  lines.length === 0
    ? ''
    : `<h2>The paper’s shapes</h2><ul>${lines.map((one) => `<li>${escape(one)}</li>`).join('')}</ul>`;

function sectionHtml(section: Section): string {
  const legend = section.curves.map(
    (label, colour) => `<li class="c${String(colour)}"><span class="swatch"></span>${escape(label)}</li>`,
  );
  return (
    `<section id="f${section.id}"><h2>${escape(section.title)}</h2><p>${escape(section.setUp)}</p>` +
    comparisonTable(section.comparisons) +
    (section.table === undefined ? '' : tableHtml(section.table)) +
    `<ul class="legend">${legend.join('')}</ul>` +
    `<div class="plots">${section.plots.map((plot) => figureHtml(plot)).join('')}</div>` +
    `<ul class="notes">${section.notes.map((note) => `<li>${escape(note)}</li>`).join('')}</ul></section>`
  );
}

function figureHtml(plot: Plot | Heat): string {
  if ('cells' in plot) {
    const key = '<span class="key">framed in red: a part of the workload stays unscheduled</span>';
    return `<figure>${heatSvg(plot)}<figcaption>${key}</figcaption></figure>`;
  }
  const dashes = new Map<string, string>();
  for (const { dash, meaning } of plot.series) if (meaning !== '') dashes.set(dash, meaning);
  const keys = [...dashes]
    .sort(([a], [b]) => b.localeCompare(a))
    .map(([dash, what]) => `<span class="key"><span class="sample ${dash}"></span>${escape(what)}</span>`);
  const bars = plot.series.some(({ points }) => points.some(({ deviation }) => (deviation ?? 0) > 0));
  if (bars) keys.push('<span class="key">bars: MAD</span>');
  return `<figure>${plotSvg(plot)}<figcaption>${keys.join('')}</figcaption></figure>`;
}

function comparisonTable(comparisons: readonly Comparison[]): string {
  if (comparisons.length === 0) return '';
  const rows = comparisons.map(
    ({ paper, ours, agrees, why }) =>
      `<tr><td>${escape(paper)}</td><td>${escape(ours)}${why === '' ? '' : `<br><em>Why: ${escape(why)}.</em>`}</td>` +
      `<td class="v ${agrees.replace(' ', '-')}">${agrees}</td></tr>`,
  );
  return `<table><thead><tr><th>The paper</th><th>Ours</th><th>Verdict</th></tr></thead><tbody>${rows.join('')}</tbody></table>`;
}

function tableHtml({ head, rows }: NonNullable<Section['table']>): string {
  const line = (cells: readonly string[], tag: string): string =>
    `<tr>${cells.map((cell) => `<${tag}>${escape(cell)}</${tag}>`).join('')}</tr>`;
  return (
    `<div class="wide"><table class="numbers"><thead>${line(head, 'th')}</thead>` +
    `<tbody>${rows.map((row) => line(row, 'td')).join('')}</tbody></table></div>`
  );
}

/** Seven colours that differ on a light and on a dark background, for most people with colour blindness too. */
const LIGHT = ['#0b62a8', '#c8500a', '#1b7f4b', '#8a3fa0', '#b3261e', '#7a6200', '#3f4a5a'];
const DARK = ['#6db3f2', '#ff9d5c', '#5fd09a', '#d59bea', '#ff8a80', '#e0c450', '#aab4c4'];

const colours = (list: readonly string[]): string =>
  list.map((colour, number) => `--c${String(number)}:${colour};`).join('');

const STYLE = [
  `:root{color-scheme:light dark;--ground:#fff;--ink:#1d2733;--soft:#5a6675;--grid:#e3e8ee;--edge:#cfd6de;--good:#1b7f4b;--bad:#b3261e;--half:#8a6100;${colours(LIGHT)}}`,
  `@media (prefers-color-scheme:dark){:root{--ground:#14181e;--ink:#e4e9f0;--soft:#9aa6b5;--grid:#29313b;--edge:#3a4450;--good:#5fd09a;--bad:#ff8a80;--half:#e0c450;${colours(DARK)}}}`,
  'body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}',
  'main{max-width:1000px;margin:0 auto;padding:24px 20px 48px}h1{font-size:26px;margin:0 0 8px}h2{font-size:20px;margin:40px 0 6px}',
  'a{color:var(--c0)}.partial{border:1px solid var(--half);color:var(--half);padding:8px 12px;border-radius:6px}',
  'table{border-collapse:collapse;width:100%;margin:12px 0;font-size:14px}th,td{text-align:left;vertical-align:top;padding:6px 10px;border-bottom:1px solid var(--edge)}',
  'th{color:var(--soft);font-weight:600}td em{color:var(--soft)}td.v{font-weight:600;white-space:nowrap}.agrees{color:var(--good)}.differs{color:var(--bad)}.partly{color:var(--half)}.not-measured{color:var(--soft)}',
  '.wide{overflow-x:auto}.numbers{font-size:12.5px}.numbers td,.numbers th{white-space:nowrap;padding:5px 7px}.numbers td{font-variant-numeric:tabular-nums}',
  '.legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 18px;padding:0;margin:14px 0 4px}.swatch{display:inline-block;width:18px;height:4px;border-radius:2px;margin-right:7px;vertical-align:middle;background:var(--c)}',
  '.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));gap:14px 18px}figure{margin:0}svg{width:100%;height:auto;display:block}',
  'figcaption{min-height:20px;font-size:12px;color:var(--soft);padding-left:13%}.key{margin-right:16px}.sample{display:inline-block;width:22px;margin-right:6px;vertical-align:middle;border-top:2px solid var(--soft)}.sample.dashed{border-top-style:dashed}.sample.dotted{border-top-style:dotted}',
  '.notes,footer{font-size:13px;color:var(--soft)}.notes{padding-left:18px}footer h2{font-size:16px}',
  '.title{font-size:14px;font-weight:600;fill:var(--ink)}.label{font-size:12px;fill:var(--soft)}.tick{font-size:11px;fill:var(--soft)}.grid{stroke:var(--grid)}.axis{stroke:var(--edge)}',
  '.rule{stroke:var(--bad);stroke-dasharray:2 4;opacity:.8}.rule-label{font-size:11px;fill:var(--bad)}',
  '.line{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round}.bar{stroke:var(--c);stroke-width:1.5}circle{fill:var(--c)}.heat{fill:var(--c0)}.lost{fill:none;stroke:var(--bad);stroke-width:2.5}.heat-label{font-size:11px;fill:var(--ink)}g.dashed .line{stroke-dasharray:5 4;stroke-width:1.5}g.dotted .line{stroke-dasharray:1.5 3.5}',
  ...LIGHT.map((_, number) => `.c${String(number)}{--c:var(--c${String(number)})}`),
].join('');
