import type { RunReport } from '../checkers/check-run.ts';
import { checkRun } from '../checkers/check-run.ts';
import { allTold } from '../checkers/event-streams.ts';
import type { LivenessTimes } from '../checkers/liveness.ts';
import { isSettled } from '../checkers/settled.ts';
import { drive } from '../kernel/drive.ts';
import { TraceHash } from '../kernel/trace.ts';
import { unleash } from '../nemesis/nemesis.ts';
import { digest } from './digest.ts';
import type { KillAt, WorldOptions, WorldResult } from './options.ts';
import { planOf } from './plan.ts';
import type { Scenario } from './scenario.ts';
import { leastOf } from './scenario.ts';
import { shareRecords } from './shared-records.ts';
import { viewsAgree, witnessViews } from './view-witness.ts';
import { workDone } from './work.ts';
import { World } from './world.ts';

const DOWN_MS = 1_000;
/** After the quiet period, all monitors' views are equal to the truth within this time (I48). */
const VIEWS_MS = 5_000;

/**
 * Runs the production roles in a world of their own: virtual time, network, store, disks and processes, in one thread,
 * every choice drawn from the seed. The same options give the same run, event by event.
 * @throws what no role may ever throw: an assertion, or acting in real time
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
  const { agenda, history } = world.ground;
  unleash(plan.faults, world);
  world.start();
  await drive(agenda, { untilMs: scenario.activeMs });
  world.becalm();
  history.phase('quiet');
  await quiet(world, scenario);
  // What changes in the last moment is still on its way to the monitors.
  const untilMs = agenda.nowMs + VIEWS_MS;
  await drive(agenda, { untilMs, done: () => viewsAgree(world) });
  witnessViews(world);
  history.phase('end');
  world.end();
  const report = options.check === false ? null : checked(world, options);
  return {
    seed: options.seed,
    events: agenda.events,
    traceHash: hash.hex,
    endedAtMs: agenda.nowMs,
    history,
    faultPlan: plan.faults,
    requests: plan.requests,
    work: workDone(history, world.ground.keys),
    violations: report?.violations ?? [],
    report,
    errors: world.errors,
  };
}

/** A run whose cell has settled ends; one that goes on costs more than the looks. */
const LOOK_MS = 3_000;

/** Of the runs this share is not ended early, so that what comes late is seen as well. */
const WHOLE_EVERY = 8;

/** Lets the quiet period pass: at least `quietLeastMs` of it, and all of it where something is still open. */
async function quiet(world: World, { activeMs, quietMs, quietLeastMs }: Scenario): Promise<void> {
  const { agenda, history, keys, random } = world.ground;
  const endMs = activeMs + quietMs;
  if (random.split('quiet').below(WHOLE_EVERY) === 0) return drive(agenda, { untilMs: endMs });
  const horizon = { keys, hosts: world.machines.size, times: LIVENESS, endMs };
  const isOver = (): boolean =>
    world.isServed && viewsAgree(world) && allTold(history, keys) && isSettled(history, horizon);
  for (let untilMs = activeMs + quietLeastMs; ; untilMs = Math.min(untilMs + LOOK_MS, endMs)) {
    await drive(agenda, { untilMs });
    if (untilMs >= endMs || isOver()) return;
  }
}

/** After the last fault: a session of 10 s runs out, another scheduler takes over, and then places and starts. */
const LIVENESS: LivenessTimes = { placeMs: 22_000, stopMs: 22_000 };

function checked(world: World, { scenario, seed }: WorldOptions): RunReport {
  const { history, keys } = world.ground;
  const { enforcement, quietMs } = scenario;
  const least = leastOf(scenario, seed);
  const liveness = quietMs >= LIVENESS.placeMs ? LIVENESS : null;
  return checkRun(history, { keys, enforcement, digest, liveness, least });
}

function kill(world: World, { actor: name, downMs = DOWN_MS }: KillAt): void {
  const actor = world.actors.get(name);
  if (actor === undefined) throw new Error(`there is no actor ${name} to kill`);
  const { agenda, life } = world.ground;
  actor.kill();
  agenda.after(downMs, life, 'restart', () => actor.start(), name);
}
