import { parseArgs } from 'node:util';
import { SMALL_CELL } from '../world/scenario.ts';
import { runPool } from './pool.ts';
import type { SeedReport, SeedSetting } from './run-seed.ts';
import { isFailure, runSeed } from './run-seed.ts';

/**
 * `npm run sim -- --seeds FROM..TO [--minutes M] [--every MS] [--calm] [--workers N] [--keep-going]`
 *
 * Runs the small cell once for each seed, on both cores, and prints every seed that fails, then one line for all. Ends with
 * 1 when one failed. With `--minutes` it goes on after TO until the time is over.
 */
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1..200' },
    minutes: { type: 'string' },
    every: { type: 'string', default: '2500' },
    calm: { type: 'boolean', default: false },
    workers: { type: 'string', default: '2' },
    'keep-going': { type: 'boolean', default: false },
  },
});

/** Of the runs this share is made twice: the same seed must give the same run. */
const REPEATED_EVERY = 100;
const MINUTE_MS = 60_000;

const range = /^(\d+)\.\.(\d+)$/.exec(values.seeds);
if (range === null) throw new Error('--seeds FROM..TO');
const [from, to] = [Number(range[1]), Number(range[2])];
const untilMs = values.minutes === undefined ? null : performance.now() + Number(values.minutes) * MINUTE_MS;
const everyMs = Number(values.every);
const setting: SeedSetting = {
  scenario: SMALL_CELL,
  faults: values.calm ? {} : { nemesis: { everyMs } },
};

const startMs = performance.now();
const totals = { runs: 0, events: 0, faults: 0, failed: [] as number[], tooLittle: 0 };
const toRepeat: SeedReport[] = [];

function* seeds(): Generator<number> {
  for (let seed = from; untilMs === null ? seed <= to : performance.now() < untilMs; seed++) yield seed;
}

function onReport(report: SeedReport): boolean {
  totals.runs += 1;
  totals.events += report.events;
  totals.faults += report.faults;
  if (report.tooLittle.length > 0) totals.tooLittle += 1;
  if (report.seed % REPEATED_EVERY === 0 && report.thrown === null) toRepeat.push(report);
  if (isFailure(report)) fail(report);
  return values['keep-going'] || totals.failed.length === 0;
}

function fail({ seed, violations, thrown }: SeedReport): void {
  totals.failed.push(seed);
  console.log(`seed ${String(seed)} fails`);
  if (thrown !== null) console.log(`  thrown: ${thrown}`);
  for (const { invariant, key, detail, atMs } of violations)
    console.log(`  ${invariant} at ${((atMs ?? 0) / 1000).toFixed(3)} s: ${key}: ${detail}`);
}

await runPool({ setting, seeds: seeds(), workers: Number(values.workers), onReport });
const seconds = (performance.now() - startMs) / 1000;
for (const before of toRepeat) {
  const again = await runSeed(before.seed, setting);
  if (again.traceHash === before.traceHash) continue;
  totals.failed.push(before.seed);
  console.log(`seed ${String(before.seed)} gave another run the second time`);
}
console.log(
  [
    `sim runs=${String(totals.runs)} events=${String(totals.events)} faults=${String(totals.faults)}`,
    `seconds=${seconds.toFixed(1)} runs/min=${((totals.runs / seconds) * 60).toFixed(0)}`,
    `repeated=${String(toRepeat.length)} too-little=${String(totals.tooLittle)}`,
    `failed=${String(totals.failed.length)} ${totals.failed.join(',')}`,
  ].join(' '),
);
process.exitCode = totals.failed.length === 0 ? 0 : 1;
