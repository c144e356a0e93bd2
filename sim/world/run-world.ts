import type { RunReport } from '../checkers/checkers.ts';
import { checkRun } from '../checkers/checkers.ts';
import { allDelivered } from '../checkers/answers/event-streams.ts';
import type { LivenessTimes } from '../checkers/liveness/liveness.ts';
import { SettledProbe } from '../checkers/settled.ts';
import { allRead } from '../checkers/answers/unread-outputs.ts';
import type { Violation } from '../checkers/replay/violations.ts';
import { drive } from '../agenda/drive.ts';
import { TraceHash } from '../agenda/trace.ts';
import { scheduleFaults } from '../nemesis/nemesis.ts';
import { digest } from '../actor/digest.ts';
import type { KillAt, WorldOptions, WorldResult } from './options.ts';
import { planOf } from './plan.ts';
import type { Scenario } from './scenario.ts';
import { clockFaultsOf } from '../checkers/replay/clock-faults.ts';
import { recordNames } from './name-recorder.ts';
import { leastOf } from './scenario.ts';
import { shareRecords } from './shared-records.ts';
import { viewsAgree, recordFinalViews, recordViews } from './view-recorder.ts';
import { workDone } from './work.ts';
import { World } from './world.ts';

const DOWN_MS = 1_000;
/** After the quiet period, all monitors' views are equal to the truth within this time (I48). */
const VIEWS_MS = 5_000;

/**
 * Runs the production roles in a world of their own: virtual time, network, store, disks and processes, in one thread,
 * every choice drawn from the seed. The same options give the same run, event by event.
 * @throws what a role must not throw: an assertion, or an action in real time
 */
export async function runWorld(options: WorldOptions): Promise<WorldResult> {
  const { scenario, trace, onEvent, killAt } = options;
  shareRecords();
  const hash = new TraceHash();
  const plan = planOf(options);
  const world: World = new World(options, plan, (entry, index) => {
    if (killAt?.eventIndex === index) kill(world, killAt);
    hash.add(entry);
    trace?.event?.(entry, index);
    onEvent?.(index, entry.life.actor);
  });
  const { agenda, history } = world.environment;
  scheduleFaults(plan.faults, world);
  world.start();
  if (scenario.names === true) recordNames(world);
  await busy(world, scenario.activeMs);
  world.endRandomFaults();
  history.phase('quiet');
  const late = await quiet(world, scenario);
  // The last changes are still on their way to the monitors.
  const untilMs = agenda.nowMs + VIEWS_MS;
  await drive(agenda, { untilMs, done: () => viewsAgree(world) });
  recordFinalViews(world);
  history.phase('end');
  world.end();
  const report = options.check === false ? null : checked(world, options, late);
  return {
    seed: options.seed,
    events: agenda.events,
    traceHash: hash.hex,
    endedAtMs: agenda.nowMs,
    history,
    faultPlan: plan.faults,
    requests: plan.requests,
    work: workDone(history, world.environment.keys),
    violations: report?.violations ?? [],
    report,
    errors: world.errors,
  };
}

/** Time between two records of what monitors show, which are compared with each other. */
const VIEW_MS = 2_000;

async function busy(world: World, untilMs: number): Promise<void> {
  const { agenda } = world.environment;
  while (agenda.nowMs < untilMs) {
    await drive(agenda, { untilMs: Math.min(agenda.nowMs + VIEW_MS, untilMs) });
    recordViews(world);
  }
}

/** Time between two probes of whether the cell has settled; a run that goes on costs more than the probes. */
const PROBE_MS = 3_000;

/** One run in so many keeps its whole quiet period, so that late violations are seen as well. */
const WHOLE_EVERY = 8;

/**
 * Lets the quiet period pass: at least `quietLeastMs` of it, then every 3 s the run ends if the liveness checkers would find nothing at its
 * end. One run of eight keeps its whole quiet period.
 * @returns what those checkers found at the time by which everything is due
 */
async function quiet(
  world: World,
  { activeMs, quietMs, quietLeastMs }: Scenario,
): Promise<readonly Violation[]> {
  const { agenda, history, keys, random } = world.environment;
  const endMs = activeMs + quietMs;
  const dueMs = activeMs + DUE_MS;
  const isWhole = random.split('quiet').below(WHOLE_EVERY) === 0;
  const probe = new SettledProbe(history, { keys, hosts: world.machines.size, times: LIVENESS });
  const isOver = (): boolean =>
    world.isServed &&
    viewsAgree(world) &&
    allDelivered(history, keys) &&
    allRead(history, { seq: Infinity, atMs: agenda.nowMs }) &&
    probe.isSettledAt(endMs);
  let late: readonly Violation[] = [];
  const first = activeMs + Math.min(DUE_MS, quietLeastMs, quietMs);
  for (let untilMs = first; ; untilMs = Math.min(untilMs + PROBE_MS, endMs)) {
    await drive(agenda, { untilMs });
    recordViews(world);
    if (late.length === 0 && untilMs >= dueMs) late = probe.openAt(untilMs).violations;
    const isEarly = isWhole || untilMs < activeMs + quietLeastMs;
    if (untilMs >= endMs || (!isEarly && isOver())) return late;
  }
}

/**
 * A role that died with the last fault keeps its jobs and hosts until its session of 10 s is over, as in production. Then 5 s (I10) for
 * another one to claim its jobs, to place, and to start or stop.
 */
const LIVENESS: LivenessTimes = { knownMs: 10_000, placeMs: 5_000, stopMs: 5_000 };

/** After so much of the quiet period everything that was open at the last fault is due. */
const DUE_MS = LIVENESS.knownMs + Math.max(LIVENESS.placeMs, LIVENESS.stopMs);

function checked(world: World, { scenario, seed }: WorldOptions, found: readonly Violation[]): RunReport {
  const { history, keys } = world.environment;
  const { enforcement, quietMs } = scenario;
  const least = leastOf(scenario, seed, clockFaultsOf(history));
  const liveness = quietMs >= DUE_MS ? LIVENESS : null;
  return checkRun(history, { keys, enforcement, digest, liveness, least, found });
}

function kill(world: World, { actor: name, downMs = DOWN_MS }: KillAt): void {
  const actor = world.actors.get(name);
  if (actor === undefined) throw new Error(`there is no actor ${name} to kill`);
  const { agenda, life } = world.environment;
  actor.kill();
  agenda.after(downMs, life, 'restart', () => actor.start(), name);
}
