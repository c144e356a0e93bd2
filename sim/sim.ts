/**
 * The deterministic simulator: the production roles on virtual time, network, store, disks and processes, every choice drawn from a seed.
 * This file runs a range of seeds on several threads and says which failed. The rooms, from the bottom up:
 *
 * - `agenda`: virtual time, the list of events that are to happen, and the lives whose events they are
 * - `history`: all that is recorded of a run from outside the roles
 * - `network`, `store`, `machine`: what roles meet instead of sockets, etcd and a host's kernel, each with a profile of faults
 * - `actor`: the processes of a cell (schedulers, monitors, arbiters, agents, clients), wired to these
 * - `nemesis`: the faults of a run, drawn from its seed or given
 * - `checkers`: the invariants, checked on the recorded history
 * - `world`: one run from its options to its result (`world/run-world.ts`)
 * - `suite`: kinds of runs, each of which stresses one side of the cell
 * - `seeds`: which run a seed stands for, and the threads that run them; `seeds/main.ts` is `npm run sim`
 * - `shrink`: the least that still fails, and a run told in words
 * - `sweep`: a crash before each event (`npm run sweep`)
 * - `mutants`: planted bugs that the suite must find (`npm run mutants`)
 * - `detector`: the failure detector on model cells with a planted fault
 * - `omega`: the experiments of the Omega paper on a model of cells, without roles
 */
import type { Failure } from './world/failure.ts';
import { failureIn } from './world/failure.ts';
import { runPool } from './seeds/pool.ts';
import type { SeedReport } from './seeds/run-seed.ts';
import type { SeedSetting } from './seeds/seeds.ts';

export interface SeedsOrder {
  readonly setting: SeedSetting;
  readonly from: number;
  readonly to: number;
  readonly workers: number;
  /** Asked before each run: enough. Default: never. */
  readonly isOver?: () => boolean;
  /** Called for each run as it ends, with how it failed and what there is so far. @returns false: begin no more */
  readonly onRun?: (report: SeedReport, failure: Failure | null, all: Readonly<SeedsTally>) => boolean;
}

export interface FailedSeed {
  readonly seed: number;
  readonly failure: Failure;
}

/** What many runs came to. */
export interface SeedsTally {
  runs: number;
  events: number;
  /** Processes of tasks. */
  started: number;
  faults: number;
  /** Runs that were made twice, and compared. */
  repeated: number;
  readonly failed: FailedSeed[];
}

/** Of the seeds this share is run twice: the same seed must give the same run, on whichever thread. A prime: of all kinds of runs some are. */
const REPEATED_EVERY = 97;

/** Runs a range of seeds on several threads, and says what failed. */
export async function runSeeds(order: SeedsOrder): Promise<SeedsTally> {
  const { setting, workers, onRun } = order;
  const tally: SeedsTally = { runs: 0, events: 0, started: 0, faults: 0, repeated: 0, failed: [] };
  const hashes = new Map<number, string>();
  const onReport = (report: SeedReport): boolean => {
    const { seed, traceHash } = report;
    const before = hashes.get(seed);
    if (before !== undefined) tally.repeated += 1;
    else if (isRepeated(seed)) hashes.set(seed, traceHash);
    const failure = before === undefined ? failureIn(report) : before === traceHash ? null : OTHER;
    if (failure !== null) tally.failed.push({ seed, failure });
    tally.runs += 1;
    tally.events += report.events;
    tally.started += report.started;
    tally.faults += report.faults;
    return onRun?.(report, failure, tally) ?? true;
  };
  await runPool({ setting, seeds: seedsOf(order), workers, onReport });
  return tally;
}

const OTHER: Failure = { invariant: 'repeat', text: 'the same seed gave another run the second time' };

function* seedsOf({ from, to, isOver }: SeedsOrder): Generator<number> {
  for (let seed = from; seed <= to; seed++) {
    if (isOver?.() === true) return;
    yield seed;
    if (isRepeated(seed)) yield seed;
  }
}

function isRepeated(seed: number): boolean {
  return seed % REPEATED_EVERY === 0;
}
