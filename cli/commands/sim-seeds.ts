import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { tooLittle } from '../../sim/checkers/work-done.ts';
import { SEED_LEAST, seedOptions } from '../../sim/shrink/setting.ts';
import type { Failure } from '../../sim/shrink/shrink.ts';
import { shrink } from '../../sim/shrink/shrink.ts';
import { runWorld } from '../../sim/world/run-world.ts';
import type { Context } from '../context.ts';
import { EXIT, usageError } from '../exit.ts';
import { formatTable } from '../output/table.ts';
import { plural } from '../output/words.ts';
import { textOf } from './sim-replay.ts';

export interface SimSeedsOptions {
  readonly minutes?: number;
  /** Folder for what failed runs leave; nothing is written without one. */
  readonly out?: string;
}

/** Failed seeds that are shrunk: each takes seconds, and the first ones of a kind tell all. */
const SHRUNK_MAX = 5;
const SEEDS_MAX = 10_000_000;

interface Failed {
  readonly seed: number;
  readonly failure: Failure;
}

interface Tally {
  runs: number;
  events: number;
  started: number;
  faults: number;
  /** Runs in which too little happened; they count as failed. */
  idle: number;
}

/** Runs one seed after the other until one bound is reached, and says what failed. */
export async function simSeeds(context: Context, range: string, options: SimSeedsOptions): Promise<number> {
  const { from, to } = rangeOf(range);
  const { terminal } = context;
  const beganMs = terminal.nowMs();
  const endMs = options.minutes === undefined ? Infinity : beganMs + options.minutes * 60_000;
  const tally: Tally = { runs: 0, events: 0, started: 0, faults: 0, idle: 0 };
  const failed: Failed[] = [];
  for (let seed = from; seed <= to && terminal.nowMs() < endMs; seed++) {
    if (context.interrupted.aborted) break;
    const failure = await runOne(seed, tally);
    if (failure === null) continue;
    failed.push({ seed, failure });
    terminal.err(`seed ${String(seed)}: ${failure.invariant}: ${failure.text}\n`);
  }
  if (options.out !== undefined)
    await leave(resolve(terminal.cwd, options.out), firstOfEach(failed).slice(0, SHRUNK_MAX));
  terminal.out(summaryOf(tally, failed, terminal.nowMs() - beganMs));
  return failed.length === 0 && tally.runs > 0 ? EXIT.ok : EXIT.workloadFailed;
}

async function runOne(seed: number, tally: Tally): Promise<Failure | null> {
  tally.runs += 1;
  try {
    const { events, report, work, faultPlan } = await runWorld(seedOptions(seed));
    tally.events += events;
    tally.started += work.started;
    tally.faults += faultPlan.length;
    const [first] = report?.violations ?? [];
    if (first !== undefined) return { invariant: first.invariant, text: first.detail };
    const short = report === null ? [] : tooLittle(report.done, SEED_LEAST);
    if (short.length === 0) return null;
    tally.idle += 1;
    return { invariant: 'too-little', text: short.join(', ') };
  } catch (error) {
    return { invariant: 'threw', text: error instanceof Error ? error.message : String(error) };
  }
}

/** Seed, shrunk plan and timeline of each. */
async function leave(folder: string, failed: readonly Failed[]): Promise<void> {
  if (failed.length === 0) return;
  await mkdir(folder, { recursive: true });
  for (const { seed } of failed) {
    const options = (await shrink(seedOptions(seed)))?.options ?? seedOptions(seed);
    const plan = `${JSON.stringify(options.faultPlan ?? [], null, 2)}\n`;
    await writeFile(join(folder, `seed-${String(seed)}-faults.json`), plan);
    const text = await runWorld(options).then(textOf, (error: unknown) => String(error));
    await writeFile(join(folder, `seed-${String(seed)}.txt`), text);
  }
}

function firstOfEach(failed: readonly Failed[]): readonly Failed[] {
  const seen = new Set<string>();
  return failed.filter(({ failure }) => !seen.has(failure.invariant) && seen.add(failure.invariant));
}

function summaryOf(tally: Tally, failed: readonly Failed[], tookMs: number): string {
  const seconds = tookMs / 1000;
  const lines = [
    `${plural(tally.runs, 'run')} in ${seconds.toFixed(1)} s: ${plural(tally.events, 'event')} ` +
      `(${Math.round(tally.events / seconds).toLocaleString('en')} a second), ` +
      `${plural(tally.started, 'start')}, ${plural(tally.faults, 'fault')}`,
  ];
  if (failed.length === 0) return `${[...lines, 'all invariants hold in every run'].join('\n')}\n`;
  const kinds = firstOfEach(failed).map(({ failure, seed }) => ({
    invariant: failure.invariant,
    runs: failed.filter((other) => other.failure.invariant === failure.invariant).length,
    seed,
    text: failure.text,
  }));
  const table = formatTable(
    [
      { title: 'INVARIANT', cell: (row) => row.invariant },
      { title: 'RUNS', cell: (row) => String(row.runs), align: 'right' },
      { title: 'FIRST SEED', cell: (row) => String(row.seed), align: 'right' },
      { title: 'WHAT', cell: (row) => row.text },
    ],
    kinds,
  );
  const next = `next: moorage sim replay ${String(failed[0]?.seed ?? 0)} --shrink`;
  return `${[...lines, `${plural(failed.length, 'run')} failed:`].join('\n')}\n${table}${next}\n`;
}

function rangeOf(range: string): { readonly from: number; readonly to: number } {
  const parts = /^(\d{1,15})(?:\.\.(\d{1,15}))?$/.exec(range);
  const from = Number(parts?.[1]);
  const to = parts?.[2] === undefined ? from : Number(parts[2]);
  if (parts === null || to < from || to - from > SEEDS_MAX)
    throw usageError(`${range} is no range of seeds`, 'moorage sim seeds 1..1000');
  return { from, to };
}
