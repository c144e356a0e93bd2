import { availableParallelism } from 'node:os';
import type { Failure } from '../world/failure.ts';
import type { SeedsOrder } from './command-line.ts';
import { readSeedsOrder } from './command-line.ts';
import type { SeedReport } from './run-seed.ts';
import { runSeeds } from '../sim.ts';
import { replayCommand } from './seeds.ts';

/**
 * `npm run sim -- --seeds FROM..TO [--minutes M] [--minutes-max M] [--theme NAME | --every MS | --calm] [--workers N] [--keep-going]`
 *
 * Runs the small cell, or that theme of the suite, once for each seed, on all cores, and prints every seed that fails and how to
 * replay it, then one line for all. Ends with 1 when one failed, and when none was run; with 64 when the words are wrong. With
 * `--minutes` it goes on after TO until the time is over; with `--minutes-max` it ends then, whether it has come to TO or not.
 */
const MINUTE_MS = 60_000;
/** sysexits: EX_USAGE. */
const USAGE = 64;

async function main(order: SeedsOrder): Promise<number> {
  const { setting, from, to, minutes, minutesMax, workers, keepGoing } = order;
  const startMs = performance.now();
  const untilMs = startMs + Math.min(minutes ?? Infinity, minutesMax ?? Infinity) * MINUTE_MS;
  const tally = await runSeeds({
    ...{ setting, from, workers },
    to: minutes === null ? to : Infinity,
    isOver: () => performance.now() >= untilMs,
    onRun: (report, failure) => {
      if (failure === null) return true;
      tell(report, failure, replayCommand(report.seed, setting));
      return keepGoing;
    },
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
  const wanted = to - from + 1;
  const made = tally.runs - tally.repeated;
  if (failed.length === 0 && made < wanted)
    console.log(`the time was over after ${String(made)} of ${String(wanted)} seeds`);
  return failed.length === 0 && tally.runs > 0 ? 0 : 1;
}

function tell({ seed, violations }: SeedReport, failure: Failure, replay: string): void {
  console.log(`seed ${String(seed)} fails`);
  for (const { invariant, key, detail, atMs } of violations)
    console.log(`  ${invariant} at ${((atMs ?? 0) / 1000).toFixed(3)} s: ${key}: ${detail}`);
  if (violations.length === 0) console.log(`  ${failure.invariant}: ${failure.text}`);
  console.log(`  npx ${replay}`);
}

const order = readSeedsOrder(process.argv.slice(2), availableParallelism());
if ('wrong' in order) {
  console.error(order.wrong);
  process.exitCode = USAGE;
} else process.exitCode = await main(order);
