import type { SchedulerKind } from '../../src/core/cell/job.ts';
import type { ElasticRule } from '../../src/core/elastic/elastic.ts';
import type { BudgetPolicy } from '../../src/core/quota/budgets.ts';
import type { RemedyPolicy } from '../../src/core/detector/remedies.ts';
import type { Quota } from '../../src/core/quota/quota.ts';
import type { SeededRandom } from '../../src/core/random/random.ts';
import type { SharedResource } from '../../src/core/quota/shared-resource.ts';
import type { Request, HostAction } from '../actor/client.ts';
import type { WorkLeast } from '../checkers/work-done.ts';
import { MISSING_COMMAND } from '../machine/task-env.ts';

/** What there is in a world, and what is asked of it. */
export interface Scenario {
  readonly hosts: number;
  /** One scheduler for each: `['batch', 'batch', 'service']`. */
  readonly schedulers: readonly SchedulerKind[];
  readonly monitors: number;
  readonly arbiters: number;
  /** Do hosts ask for tickets? */
  readonly enforcement: boolean;
  readonly hostCpuMilli: number;
  readonly hostMemoryMib: number;
  /** The models of each host's devices; absent: none has any. */
  readonly gpuModels?: readonly string[];
  /** Members of a gang that schedulers take for one transaction; absent: four, or one in the worlds of every third seed. */
  readonly gangMax?: number;
  /** With so many placements and jobs that wait schedulers are busy; absent: 64, or one in the worlds of every 13th seed. */
  readonly busyBacklog?: number;
  /** How far elastic schedulers grow jobs; absent: as by default. */
  readonly elastic?: ElasticRule;
  /** What an operator allows a namespace from some moment on; absent: there are no quotas. */
  readonly quota?: { readonly atMs: number; readonly limits: Quota };
  /** What is done about verdicts, from the beginning; absent: as by default. */
  readonly remedies?: RemedyPolicy;
  /** What bounds what the cell does of its own accord, from the beginning; absent: nothing. */
  readonly budgets?: BudgetPolicy;
  /** How long what is to end on a lost host is kept; absent: as by default. */
  readonly orphanMs?: number;
  /** How long a bucket of a budget is kept that is full again; absent: as by default. */
  readonly fullBucketMs?: number;
  /** What an operator does to hosts, each at its time; absent: nothing. */
  readonly hostActions?: readonly HostAction[];
  /** When an operator has the cell rebalanced, and something moved beside; absent: never. */
  readonly movesAtMs?: readonly number[];
  /** How many jobs and one-off runs clients ask for, spread over `activeMs`. */
  readonly jobs: number;
  /** The longest time before a task is begun again on its host, drawn for each job; null: as its type has it (lists: 10 s). */
  readonly restartDelayMaxMs: number | null;
  /** Virtual time for the work, and for faults; then a quiet time without any. */
  readonly activeMs: number;
  readonly quietMs: number;
  /**
   * A run whose cell has settled may end so long after the last fault, at most `quietMs`. More than a session's time, so
   * that a role that died with the last fault is seen to be replaced.
   */
  readonly quietLeastMs: number;
  /** What hosts share, set before anything else. */
  readonly shared: readonly SharedResource[];
  /** true: a client follows the events. Absent: in the worlds of every fourth seed. */
  readonly followed?: boolean;
  /** true: tasks write, and a client reads it. Absent: in the worlds of every fourth seed. */
  readonly read?: boolean;
  /** true: agents follow the names of all that clients ask for, and what they know of them is recorded. Absent: they follow none. */
  readonly names?: boolean;
  /** true: hosts keep volumes, and reach storage by a volume driver. Absent: they keep none. */
  readonly volumes?: boolean;
  /** true: monitors have a program that turns lost hosts off and on. Absent: they have none. */
  readonly fences?: boolean;
  /** A run in which less was done has tested nothing, and fails. */
  readonly least: WorkLeast;
}

/** Small, so that thousands of runs fit into a minute, and every role there at least once, two where two can collide. */
export const SMALL_CELL: Scenario = {
  ...{ hosts: 3, schedulers: ['batch', 'batch', 'service'], monitors: 2, arbiters: 1, enforcement: true },
  ...{ hostCpuMilli: 2_000, hostMemoryMib: 4_096, jobs: 8, activeMs: 15_000, quietMs: 30_000 },
  ...{ restartDelayMaxMs: 2_500, quietLeastMs: 12_000 },
  shared: [
    { name: 'uplink', unit: 'Mbit/s', by: 'host.rack', capacity: 1_000, capacities: { r0: 600 } },
    { name: 'power', unit: 'W', by: null, capacity: 1_500, capacities: {} },
  ],
  least: { acknowledged: 3, committed: 3, started: 3, ended: 2, finalViews: 2 },
};

/** With more work, and each job type's own delay before a restart: the base of the suite's scenarios. */
export const BUSY_CELL: Scenario = { ...SMALL_CELL, jobs: 10, restartDelayMaxMs: null };

/** See `Scenario.gangMax`. The gangs of `requestsOf` have up to four members. */
export function gangMaxOf({ gangMax }: Scenario, seed: number): number {
  return gangMax ?? (seed % 3 === 2 ? 1 : 4);
}

/** Busy schedulers hold starts and their tickets back. See `Scenario.busyBacklog`. */
export function busyBacklogOf({ busyBacklog }: Scenario, seed: number): number {
  return busyBacklog ?? (seed % 13 === 10 ? 1 : 64);
}

export function isFollowed({ followed }: Scenario, seed: number): boolean {
  return followed ?? seed % 4 === 0;
}

export function isRead({ read }: Scenario, seed: number): boolean {
  return read ?? seed % 4 === 2;
}

/** Does the follower start some time into the run, and ask for events from then on? */
export function isFollowedFromNow(seed: number): boolean {
  return (seed >> 2) % 2 === 1;
}

/**
 * A run in which a follower read fewer has tested nothing: some jobs alone make more, most runs five times as many. A follower from `now`
 * may begin when all is over, if its first call was lost in a cut.
 */
const EVENTS_LEAST = 30;

/**
 * `Scenario.least`, and the least number of events where they are followed. For output a scenario sets it itself: few tasks may write.
 *
 * @param faultyClocks roles with a clock fault: the tickets of an arbiter ahead of its hosts are not yet valid, and nothing starts
 */
export function leastOf(scenario: Scenario, seed: number, faultyClocks: ReadonlySet<string>): WorkLeast {
  const mustHear = isFollowed(scenario, seed) && !isFollowedFromNow(seed);
  const least = mustHear ? { events: EVENTS_LEAST, ...scenario.least } : scenario.least;
  const isAhead = [...faultyClocks].some((id) => id.startsWith('arbiter-'));
  return isAhead ? { ...least, started: 0, ended: 0 } : least;
}

/** Monitors answer after a moment only. */
const FIRST_MS = 200;

/** What clients ask for, drawn from the seed. */
export function requestsOf(scenario: Scenario, random: SeededRandom): readonly Request[] {
  const requests = Array.from({ length: scenario.jobs }, (_, n) => requestOf(n, scenario, random));
  return requests.sort((a, b) => a.atMs - b.atMs);
}

function requestOf(n: number, scenario: Scenario, random: SeededRandom): Request {
  const atMs = FIRST_MS + random.fraction() * scenario.activeMs * 0.7;
  const kind = random.below(4) === 0 ? 'run' : 'submit';
  const isService = kind === 'submit' && scenario.schedulers.includes('service') && random.below(3) === 0;
  const name = `job-${String(n)}`;
  const type = isService ? 'service' : 'batch';
  const plain = { name, type, ...placing(random), ...work(isService, random) };
  const file = repeating(addressed(sharing(plain, random), random), scenario, random);
  const stops = isService || random.below(5) === 0;
  return { atMs, kind, name, file, stopAfterMs: stops ? random.below(scenario.activeMs) : null };
}

/**
 * The job file, in one of four cases with a shared resource. Drawn from a random stream of its own, so that it changes nothing else of what
 * a seed draws.
 */
export function sharing<T extends { readonly name: string; readonly resources: object }>(
  file: T,
  random: SeededRandom,
): T {
  const own = random.split(`shared ${file.name}`);
  const drawn = own.below(8);
  if (drawn > 2) return file;
  const amount = 100 * (1 + own.below(5));
  const shared = { ...(drawn === 1 ? {} : { uplink: amount }), ...(drawn === 0 ? {} : { power: amount }) };
  return { ...file, resources: { ...file.resources, shared } };
}

/** The job file, in one of three cases with one or two addresses of its host for each task. Drawn from its own stream, too. */
export function addressed<T extends { readonly name: string; readonly resources: object }>(
  file: T,
  random: SeededRandom,
): T {
  const drawn = random.split(`addresses ${file.name}`).below(6);
  if (drawn > 1) return file;
  return { ...file, resources: { ...file.resources, scalars: { addresses: 1 + drawn } } };
}

/**
 * The job file, with its delay before a restart on the same host, and in one of three cases with a reschedule policy, of which every
 * second allows no other attempt. Drawn from its own stream, too.
 */
function repeating<T extends { readonly name: string }>(
  file: T,
  { restartDelayMaxMs }: Scenario,
  random: SeededRandom,
): T {
  if (restartDelayMaxMs === null) return file;
  const delayMs = random.split(`restart ${file.name}`).below(restartDelayMaxMs);
  const restart = { delay: `${String(delayMs)}ms` };
  const own = random.split(`reschedule ${file.name}`);
  if (own.below(3) > 0) return { ...file, restart };
  const reschedule = { attempts: own.below(2), delay: '1s', maxDelay: '1s', onHostLost: own.below(2) === 0 };
  return { ...file, restart, reschedule };
}

/** The request, in one of three cases with tasks that write. Drawn from its own stream, too. */
export function writing(request: Request, random: SeededRandom): Request {
  const drawn = random.split(`output ${request.name}`);
  if (drawn.below(3) > 0) return request;
  const env = { ...(request.file['env'] as object), SIM_OUTPUT_EVERY_MS: String(100 + drawn.below(700)) };
  return { ...request, file: { ...request.file, env } };
}

function placing(random: SeededRandom) {
  const gang = random.below(8) === 0;
  return {
    count: 1 + random.below(4),
    priority: [30, 50, 50, 80][random.below(4)] ?? 50,
    resources: {
      cpu: `${String(100 * (1 + random.below(8)))}m`,
      memory: `${String(64 * (1 + random.below(8)))}Mi`,
    },
    ...(random.below(4) === 0 ? { ports: { http: 'auto' } } : {}),
    ...(gang ? { gang: true, waitMax: '20s' } : {}),
  };
}

function work(isService: boolean, random: SeededRandom) {
  const runMs = isService && random.below(2) === 0 ? 0 : 100 + random.below(6_000);
  const fails = random.below(5) === 0;
  return {
    command: [random.below(20) === 0 ? MISSING_COMMAND : 'work'],
    env: {
      SIM_RUN_MS: String(runMs),
      SIM_EXIT_CODE: fails ? '1' : '0',
      ...(random.below(6) === 0 ? { SIM_IGNORES_SIGNALS: '1' } : {}),
    },
    stop: { signal: 'SIGTERM', grace: `${String(100 + random.below(2_000))}ms` },
  };
}
