import { drive } from '../kernel/drive.ts';
import { TraceHash } from '../kernel/trace.ts';
import type { KillAt, WorldOptions, WorldResult } from './options.ts';
import { workDone } from './work.ts';
import { World } from './world.ts';

const DOWN_MS = 1_000;

/**
 * Runs the production roles in a world of their own: virtual time, network, store, disks and processes, in one thread,
 * every choice drawn from the seed. The same options give the same run, event by event.
 * @throws what no role may ever throw: an assertion, or acting in real time
 */
export async function runWorld(options: WorldOptions): Promise<WorldResult> {
  const { scenario, trace, onEvent, killAt } = options;
  const hash = new TraceHash();
  const world: World = new World(options, (entry, index) => {
    if (killAt?.eventIndex === index) kill(world, killAt);
    hash.add(entry);
    trace?.event?.(entry, index);
    onEvent?.(index, entry.life.actor);
  });
  const { agenda, history } = world.ground;
  world.start();
  await drive(agenda, { untilMs: scenario.activeMs });
  history.phase('quiet');
  await drive(agenda, { untilMs: scenario.activeMs + scenario.quietMs });
  history.phase('end');
  world.end();
  return {
    seed: options.seed,
    events: agenda.events,
    traceHash: hash.hex,
    endedAtMs: agenda.nowMs,
    history,
    work: workDone(history, world.ground.keys),
    violations: [],
    errors: world.errors,
  };
}

function kill(world: World, { actor: name, downMs = DOWN_MS }: KillAt): void {
  const actor = world.actors.get(name);
  if (actor === undefined) throw new Error(`there is no actor ${name} to kill`);
  const { agenda, life } = world.ground;
  actor.kill();
  agenda.after(downMs, life, 'restart', () => actor.start(), name);
}
