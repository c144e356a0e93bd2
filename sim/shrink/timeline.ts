import type { RunReport } from '../checkers/checkers.ts';
import type { Violation } from '../checkers/replay/violations.ts';
import type { History } from '../history/history.ts';
import type { Line } from './lines.ts';
import { linesOf } from './lines.ts';

/** Lines that are left out of a long timeline say nothing about a violation: what is shown beside its evidence. */
const AROUND_LINES = 12;
/** A longer timeline is too long to read. */
const LINES_MAX = 400;

/**
 * A run as text for people: everything that was recorded, merged in its order, with the time, who it was, and what
 * happened; the facts that prove a violation are marked `>>`, and the violations stand at the end.
 *
 * @param whole also what has nothing to do with a violation
 */
export function timeline(history: History, report: RunReport, whole = false): string {
  const lines = linesOf(history);
  const evidence = new Set(report.violations.flatMap((violation) => violation.evidence ?? []));
  const places = whole ? lines.map((_, place) => place) : excerpt(lines, report.violations, evidence);
  const width = Math.max(8, ...places.map((place) => lines[place]?.actor.length ?? 0));
  const texts: string[] = [];
  let next = 0;
  for (const place of places) {
    const line = lines[place];
    if (line === undefined) continue;
    if (place !== next) texts.push('   ...');
    next = place + 1;
    const mark = evidence.has(line.seq) ? '>>' : '  ';
    texts.push(`${mark} ${secondsOf(line.atMs)}  ${line.actor.padEnd(width)}  ${line.text}`);
  }
  return `${[...texts, '', ...resultOf(report)].join('\n')}\n`;
}

export function resultOf(report: RunReport): string[] {
  if (report.result === 'too-little') return ['too little happened:', ...report.tooLittle];
  if (report.result === 'holds') return ['all invariants hold'];
  return report.violations.map(
    ({ invariant, atMs, key, detail }) =>
      `${invariant} broken${atMs === undefined ? '' : ` at ${secondsOf(atMs).trim()}`}: ${key}: ${detail}`,
  );
}

/** What happened to those that the violations are about, and what happened around the evidence: places of lines. */
function excerpt(
  lines: readonly Line[],
  violations: readonly Violation[],
  evidence: ReadonlySet<number>,
): readonly number[] {
  const all = lines.map((_, place) => place);
  if (lines.length <= LINES_MAX) return all;
  const near = new Set<number>();
  for (const [place, { seq }] of lines.entries())
    if (evidence.has(seq)) for (let n = place - AROUND_LINES; n <= place + AROUND_LINES; n++) near.add(n);
  const words = [...new Set(violations.flatMap(({ key }) => subjectsOf(key)))];
  const about = all.filter((place) => {
    const text = lines[place]?.text ?? '';
    return near.has(place) || text.startsWith('FAULT') || words.some((word) => text.includes(word));
  });
  return about.length > LINES_MAX ? about.slice(-LINES_MAX) : about;
}

/** The ids and job names in the key of a violation. */
function subjectsOf(key: string): string[] {
  return key.split(/[/[\] .]+/).filter((word) => word.length > 4 && !COMMON.has(word));
}

const COMMON = new Set(['moorage', 'default', 'ledger', 'allocs', 'owners', 'outcomes']);

export function secondsOf(ms: number): string {
  return `${(ms / 1000).toFixed(3).padStart(9)} s`;
}
