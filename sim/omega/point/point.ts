/**
 * One simulated run: its `spec.ts` decides the outcome, its `result.ts` is plain data that goes between threads and into files. This file
 * fills the cell, makes the schedulers, submits the jobs, and runs to the horizon.
 */
import type { SeededRandom } from '../../../src/core/random/random.ts';
import { seededRandom } from '../../../src/core/random/random.ts';
import type { ElasticJob } from '../elastic/mapreduce-job.ts';
import { drawElasticJob } from '../elastic/mapreduce-job.ts';
import { ElasticMeter } from '../elastic/meter.ts';
import { ElasticScheduler } from '../elastic/elastic.ts';
import type { ElasticSpec } from '../elastic/spec.ts';
import { draw, residual } from '../workload/distribution.ts';
import { drawBody, drawnJobs } from '../workload/drawn-jobs.ts';
import type { JobSource, Prefill, SimJob, WorkClass } from '../workload/workload.ts';
import { HOST_GROUPS_MAX, WORK_CLASSES } from '../workload/workload.ts';
import { CoreCommit } from '../model/core-commit.ts';
import type { SchedulerWork } from '../model/meters.ts';
import { ClassMeter, SchedulerMeter } from '../model/meters.ts';
import { Allocator } from '../model/offers.ts';
import { Placer, RANDOM_FIRST_FIT } from '../model/placer.ts';
import type { PointResult } from './result.ts';
import { resultOf } from './result.ts';
import type { JobScheduler } from '../model/scheduler.ts';
import { SimScheduler } from '../model/scheduler.ts';
import { SharedCell } from '../model/shared-cell.ts';
import type { PointSpec } from './spec.ts';
import { VirtualTime } from '../model/virtual-time.ts';
import { ModelWorld } from '../model/model.ts';

export interface RunOptions {
  /** The jobs of a trace; drawn from the spec's load without it. */
  readonly jobs?: JobSource;
  /** Told a hundred times on the way. */
  readonly onProgress?: (done: number) => void;
  /** Asked before each event: is it to end here, with what it has? */
  readonly stops?: () => boolean;
  /** See `CommitOptions`. */
  readonly judgeAll?: boolean;
}

const DAY_SECONDS = 86_400;
/** A shorter run than two days is measured in so many slices instead of days. */
const SLICES_OF_SHORT = 8;
const PROGRESS_STEPS = 100;

/** Simulates one point. The same spec gives the same result, whatever runs beside it, unless it is stopped on the way. */
export function runPoint(spec: PointSpec, options: RunOptions = {}): PointResult {
  const random = seededRandom(spec.seed);
  const classes = { batch: new ClassMeter('batch'), service: new ClassMeter('service') };
  const world = worldOf(spec, random, classes);
  const { time } = world;
  prefill(world, random.split('prefill'));
  const schedulers = schedulersOf(world, random, options.judgeAll ?? false);
  const jobs =
    options.jobs ??
    drawnJobs(spec.load ?? { batch: null, service: null }, random, spec.cell.hostGroups, spec.arrivalScale);
  submitAll(jobs, time, (job) => {
    const meter = classes[job.work];
    meter.submitted += 1;
    meter.tasksSubmitted += job.tasks;
    schedulers.route(job).submit({ job, unplaced: job.tasks, tries: 0 });
  });
  const elastic = spec.elastic === null ? null : addElastic(world, spec.elastic, random.split('elastic'));
  const stopped = !runToHorizon(time, options);
  world.countUse();
  return resultOf(
    spec,
    world,
    schedulers.all.map(({ meter }) => meter),
    [classes.batch, classes.service],
    elastic,
    stopped ? time.nowSeconds : null,
  );
}

/** @returns false: it was stopped on the way */
function runToHorizon(time: VirtualTime, { onProgress, stops = () => false }: RunOptions): boolean {
  for (let step = 1; step <= PROGRESS_STEPS; step++) {
    if (!time.runTo((time.horizonSeconds * step) / PROGRESS_STEPS, stops)) return false;
    onProgress?.(step / PROGRESS_STEPS);
  }
  return true;
}

/** Sets up the scheduler of elastic jobs beside the others, and their submissions. */
function addElastic(world: ModelWorld, elastic: ElasticSpec, random: SeededRandom): ElasticMeter {
  const { spec, time } = world;
  const scheduler = new SchedulerMeter(
    'elastic',
    'elastic',
    spec.horizonSeconds,
    world.used.cpuMilli.seconds,
  );
  const meter = new ElasticMeter(world, scheduler, elastic.policy);
  const commit = new CoreCommit(world.cell, { conflictCheck: spec.conflictCheck, judgeAll: false });
  const places = random.split('places');
  const taker = new ElasticScheduler(world, elastic, meter, commit, places);
  let [submitSeconds, made] = [0, 0];
  const next = (): ElasticJob => {
    submitSeconds += draw(elastic.load.gapSeconds, random);
    return drawElasticJob(elastic.load, random, made++, submitSeconds);
  };
  submitAll({ next }, time, (job) => taker.submit(job));
  return meter;
}

function sliceSecondsOf(horizonSeconds: number): number {
  const days = Math.floor(horizonSeconds / DAY_SECONDS);
  return days >= 2 ? horizonSeconds / days : horizonSeconds / SLICES_OF_SHORT;
}

function worldOf(spec: PointSpec, random: SeededRandom, classes: Record<WorkClass, ClassMeter>): ModelWorld {
  if (spec.cell.hostGroups > HOST_GROUPS_MAX)
    throw new Error(`at most ${String(HOST_GROUPS_MAX)} groups of hosts`);
  const groups = random.split('groups');
  const groupOf = (): number => groups.below(Math.max(1, spec.cell.hostGroups));
  const cell = new SharedCell(spec.cell, groupOf, spec.endsMove);
  const time = new VirtualTime(spec.horizonSeconds);
  const sliceSeconds = sliceSecondsOf(spec.horizonSeconds);
  return new ModelWorld(spec, { time, cell, classes, sliceSeconds });
}

interface Schedulers {
  readonly all: readonly JobScheduler[];
  /** Of several of one class the next in turn. */
  route(job: SimJob): JobScheduler;
}

function schedulersOf(world: ModelWorld, random: SeededRandom, judgeAll: boolean): Schedulers {
  const { spec } = world;
  const sliceSeconds = world.used.cpuMilli.seconds;
  const meterOf = (name: string, work: SchedulerWork): SchedulerMeter =>
    new SchedulerMeter(name, work, spec.horizonSeconds, sliceSeconds);
  if (spec.design === 'monolithic') {
    const one = new SimScheduler(
      world,
      meterOf('monolithic', 'all'),
      null,
      random.split('places of monolithic'),
    );
    return { all: [one], route: () => one };
  }
  const allocator = spec.design === 'two-level' ? new Allocator(world) : null;
  const commit = new CoreCommit(world.cell, { conflictCheck: spec.conflictCheck, judgeAll });
  const make = (work: WorkClass): JobScheduler[] =>
    Array.from({ length: spec.schedulers[work] }, (_, number) => {
      const name = spec.schedulers[work] === 1 ? work : `${work}-${String(number + 1)}`;
      const chance = random.split(`places of ${name}`);
      const meter = meterOf(name, work);
      return allocator === null
        ? new SimScheduler(world, meter, commit, chance)
        : allocator.framework(meter, chance);
    });
  const of = { batch: make('batch'), service: make('service') };
  const turns = { batch: 0, service: 0 };
  return {
    all: WORK_CLASSES.flatMap((work) => of[work]),
    route: ({ work }) => {
      const taker = of[work][turns[work]++ % of[work].length];
      if (taker === undefined) throw new Error(`no scheduler for ${work} jobs`);
      return taker;
    },
  };
}

/** One submission at a time stands in the agenda. */
function submitAll<T extends { readonly submitSeconds: number }>(
  jobs: { next(): T | null },
  time: VirtualTime,
  submit: (job: T) => void,
): void {
  const next = (): void => {
    const job = jobs.next();
    if (job === null) return;
    time.after(job.submitSeconds - time.nowSeconds, 'submission', () => {
      submit(job);
      next();
    });
  };
  next();
}

/** Fills the cell as it is when the run begins. Tasks that do not fit are left out. */
function prefill(world: ModelWorld, random: SeededRandom): void {
  const placer = new Placer(world.cell.hosts, world.cell.groupBit, RANDOM_FIRST_FIT, random.split('places'));
  for (const part of world.spec.cell.prefill) fillPart(world, random, placer, part);
}

function fillPart(world: ModelWorld, random: SeededRandom, placer: Placer, part: Prefill): void {
  const { cell, spec, time } = world;
  const load = spec.load?.[part.work] ?? null;
  if (load === null) return;
  const wantedMilli = cell.cpuMilliUsed + part.cpuShare * cell.cpuMilliTotal;
  while (cell.cpuMilliUsed < wantedMilli) {
    const body = drawBody(load, random, spec.cell.hostGroups);
    const most = Math.ceil((wantedMilli - cell.cpuMilliUsed) / body.shape.cpuMilli);
    const job: SimJob = { ...body, id: -1, work: part.work, submitSeconds: 0, gang: false };
    const placed = placer.place(cell, job, Math.min(most, job.tasks));
    const { count, devices } = placed;
    const hosts = placed.hosts.slice(0, count);
    for (const host of hosts) cell.counted(host, job.shape);
    if (count === 0) return;
    if (part.lives === 'standing') continue;
    time.after(residual(load.runtimeSeconds, random), 'end', () => world.ended(job, { hosts, devices }));
  }
}
