import { writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import type { FailedSeed, SeedsTally } from '../../../sim/sim.ts';
import { runSeeds } from '../../../sim/sim.ts';
import type { SeedSetting } from '../../../sim/seeds/seeds.ts';
import { replayCommand, seedOptions } from '../../../sim/seeds/seeds.ts';
import { shrink } from '../../../sim/shrink/shrink.ts';
import { makeFolder } from '../../../src/adapters/disk/make-folder.ts';
import type { Context } from '../../command/context.ts';
import { EXIT, usageError } from '../../command/exit.ts';
import { formatTable } from '../../output/table.ts';
import { Bar } from '../../output/bar.ts';
import { plural } from '../../../src/wire/values/words.ts';
import { replayOf, themeOf } from './replay-seed.ts';

export interface SimSeedsOptions {
  readonly minutes?: number;
  readonly theme?: string;
  readonly out?: string;
}

/** Failed seeds that are shrunk: each takes seconds, and one of a kind is enough. */
const SHRUNK_MAX = 5;
const SEEDS_MAX = 10_000_000;

/** Runs a range of seeds on all cores until the range, the time or Ctrl-C ends it, and prints what failed. */
export async function simSeeds(context: Context, range: string, options: SimSeedsOptions): Promise<number> {
  const { from, to } = rangeOf(range);
  const { terminal, interrupted } = context;
  const setting = options.theme === undefined ? {} : { theme: themeOf(options.theme) };
  const beganMs = terminal.nowMs();
  const endMs = options.minutes === undefined ? Infinity : beganMs + options.minutes * 60_000;
  const bar = new Bar(terminal);
  const tally = await runSeeds({
    ...{ setting, from, to, workers: availableParallelism() },
    isOver: () => interrupted.aborted || terminal.nowMs() >= endMs,
    onRun: ({ seed }, failure, { runs, events }) => {
      const perSecond = Math.round((1_000 * events) / bar.spentMs).toLocaleString('en');
      const share = Math.max(runs / (to - from + 1), bar.spentMs / (endMs - beganMs));
      bar.show(share, `${plural(runs, 'run')}, ${perSecond} events a second`);
      if (failure !== null) bar.say(`seed ${String(seed)}: ${failure.invariant}: ${firstLine(failure.text)}`);
      return true;
    },
  });
  bar.clear();
  if (options.out !== undefined)
    await writeFailures(
      resolve(terminal.cwd, options.out),
      firstOfEach(tally.failed).slice(0, SHRUNK_MAX),
      setting,
    );
  if (interrupted.aborted) terminal.err(`interrupted after ${plural(tally.runs, 'run')}\n`);
  terminal.out(summaryOf(tally, terminal.nowMs() - beganMs, setting));
  return tally.failed.length === 0 && tally.runs > 0 ? EXIT.ok : EXIT.workloadFailed;
}

/** Seed, shrunk plan and timeline of each. */
async function writeFailures(
  folder: string,
  failed: readonly FailedSeed[],
  setting: SeedSetting,
): Promise<void> {
  if (failed.length === 0) return;
  makeFolder(folder);
  for (const { seed } of failed) {
    const whole = seedOptions(seed, setting);
    const options = (await shrink(whole))?.options ?? whole;
    const plan = `${JSON.stringify(options.faultPlan ?? [], null, 2)}\n`;
    await writeFile(join(folder, `seed-${String(seed)}-faults.json`), plan);
    const { text } = await replayOf(options);
    await writeFile(join(folder, `seed-${String(seed)}.txt`), text);
  }
}

function firstOfEach(failed: readonly FailedSeed[]): readonly FailedSeed[] {
  const seen = new Set<string>();
  return failed.filter(({ failure }) => !seen.has(failure.invariant) && seen.add(failure.invariant));
}

function summaryOf(tally: SeedsTally, tookMs: number, setting: SeedSetting): string {
  const { failed } = tally;
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
    text: firstLine(failure.text),
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
  const next = `next: ${replayCommand(failed[0]?.seed ?? 0, setting)} --shrink`;
  return `${[...lines, `${plural(failed.length, 'run')} failed:`].join('\n')}\n${table}${next}\n`;
}

/** What was thrown comes with its stack. */
function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}

function rangeOf(range: string): { readonly from: number; readonly to: number } {
  const parts = /^(\d{1,15})(?:\.\.(\d{1,15}))?$/.exec(range);
  const from = Number(parts?.[1]);
  const to = parts?.[2] === undefined ? from : Number(parts[2]);
  if (parts === null || to < from || to - from > SEEDS_MAX)
    throw usageError(`${range} is no range of seeds`, 'moorage sim seeds 1..1000');
  return { from, to };
}
