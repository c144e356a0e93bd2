/**
 * How many seeded runs of the production roles a machine makes in a minute: the small cell with faults, every run of 45
 * virtual seconds, checked against all invariants. `detector.ts` measures the failure detector on model cells.
 */
import { availableParallelism } from 'node:os';
import { runPool } from '../../sim/seeds/pool.ts';
import type { SeedReport } from '../../sim/seeds/run-seed.ts';
import { failureIn } from '../../sim/world/failure.ts';
import { SMALL_CELL } from '../../sim/world/scenario.ts';
import { flagsOf } from '../testbed/flags.ts';

const flags = flagsOf({ runs: 1_000, warm: 200, seed: 1, every: 2_500, workers: availableParallelism() });
const { runs, warm, seed: first, every: everyMs, workers } = flags;
const reports: SeedReport[] = [];
let startMs = 0;
let startCpu = process.cpuUsage();

function* seeds(): Generator<number> {
  for (let n = 0; n < warm + runs; n++) yield first + n;
}

let ended = 0;
await runPool({
  ...{ setting: { everyMs }, seeds: seeds(), workers },
  onReport: (report) => {
    ended += 1;
    if (ended === warm) {
      startMs = performance.now();
      startCpu = process.cpuUsage();
    }
    if (ended > warm) reports.push(report);
    return true;
  },
});
const seconds = (performance.now() - startMs) / 1000;
const cpu = process.cpuUsage(startCpu);
const cpuSeconds = (cpu.user + cpu.system) / 1e6;
const events = reports.reduce((sum, report) => sum + report.events, 0);
/** What the least of runs should come to. */
const EVENTS_LEAST = 3_000;
const few = reports.filter((report) => report.events < EVENTS_LEAST).length;
const least = Math.min(...reports.map((report) => report.events));
const failed = reports.filter((report) => failureIn(report) !== null).map((report) => report.seed);
console.log(
  [
    `sim hosts=${String(SMALL_CELL.hosts)} jobs=${String(SMALL_CELL.jobs)} faults-every-ms=${String(everyMs)}`,
    `seed=${String(first)} runs=${String(reports.length)} workers=${String(workers)}`,
    `runs/min=${((reports.length / seconds) * 60).toFixed(0)}`,
    `runs/cpu-min=${((reports.length / cpuSeconds) * 60).toFixed(0)}`,
    `events/run=${(events / reports.length).toFixed(0)} events/s=${(events / seconds).toFixed(0)}`,
    `events-least=${String(least)} below-${String(EVENTS_LEAST)}=${((100 * few) / reports.length).toFixed(1)}%`,
    `cpu-ms/run=${((cpuSeconds / reports.length) * 1000).toFixed(2)}`,
    `failed=${String(failed.length)} ${failed.slice(0, 10).join(',')}`,
  ].join(' '),
);
