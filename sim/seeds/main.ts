import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { THEMES } from '../mutants/suite.ts';
import type { Failure } from '../world/failure.ts';
import type { SeedReport } from './run-seed.ts';
import { runSeeds } from './run-seeds.ts';
import type { SeedSetting } from './setting.ts';
import { replayCommand } from './setting.ts';

/**
 * `npm run sim -- --seeds FROM..TO [--minutes M] [--minutes-max M] [--theme NAME | --every MS | --calm] [--workers N] [--keep-going]`
 *
 * Runs the small cell, or that theme of the suite, once for each seed, on all cores, and prints every seed that fails and how to
 * replay it, then one line for all. Ends with 1 when one failed, and when none was run. With `--minutes` it goes on after TO until the time is over; with `--minutes-max` it ends then, whether it has
 * come to TO or not.
 */
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1..200' },
    minutes: { type: 'string' },
    'minutes-max': { type: 'string' },
    theme: { type: 'string' },
    every: { type: 'string' },
    calm: { type: 'boolean', default: false },
    workers: { type: 'string', default: String(availableParallelism()) },
    'keep-going': { type: 'boolean', default: false },
  },
});

const MINUTE_MS = 60_000;

const range = /^(\d+)\.\.(\d+)$/.exec(values.seeds);
if (range === null) throw new Error('--seeds FROM..TO');
const theme = THEMES.find((name) => name === values.theme);
if (values.theme !== undefined && theme === undefined)
  throw new Error(`there is no theme ${values.theme}; there are ${THEMES.join(', ')}`);
const everyMs = values.every === undefined ? undefined : Number(values.every);
const setting: SeedSetting = { theme, everyMs: values.calm ? null : everyMs };
const startMs = performance.now();
const timeFor = (minutes: string | undefined): number =>
  minutes === undefined ? Infinity : startMs + Number(minutes) * MINUTE_MS;
const untilMs = Math.min(timeFor(values.minutes), timeFor(values['minutes-max']));

function onRun({ seed, violations }: SeedReport, failure: Failure | null): boolean {
  if (failure === null) return true;
  console.log(`seed ${String(seed)} fails`);
  for (const { invariant, key, detail, atMs } of violations)
    console.log(`  ${invariant} at ${((atMs ?? 0) / 1000).toFixed(3)} s: ${key}: ${detail}`);
  if (violations.length === 0) console.log(`  ${failure.invariant}: ${failure.text}`);
  console.log(`  npx ${replayCommand(seed, setting)}`);
  return values['keep-going'];
}

const tally = await runSeeds({
  setting,
  from: Number(range[1]),
  to: values.minutes === undefined ? Number(range[2]) : Infinity,
  workers: Number(values.workers),
  isOver: () => performance.now() >= untilMs,
  onRun,
});
const seconds = (performance.now() - startMs) / 1000;
const failed = tally.failed.map(({ seed }) => seed);
console.log(
  [
    `sim runs=${String(tally.runs)} events=${String(tally.events)} faults=${String(tally.faults)}`,
    `seconds=${seconds.toFixed(1)} runs/min=${((tally.runs / seconds) * 60).toFixed(0)}`,
    `repeated=${String(tally.repeated)} failed=${String(failed.length)} ${failed.join(',')}`,
  ].join(' '),
);
const wanted = Number(range[2]) - Number(range[1]) + 1;
const made = tally.runs - tally.repeated;
if (failed.length === 0 && made < wanted)
  console.log(`the time was over after ${String(made)} of ${String(wanted)} seeds`);
process.exitCode = failed.length === 0 && tally.runs > 0 ? 0 : 1;
