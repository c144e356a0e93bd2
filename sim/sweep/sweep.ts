/**
 * The crash sweep (I56): each role is killed just before each of its events in turn, and the end of every such run is compared with that of
 * the run without a crash.
 *
 * - `main.ts`: `npm run sweep`; `scenario.ts`: the small cell that is swept; `end-state.ts`: what a run came to, without ids, hosts and times
 */
import { errorText } from '../../src/core/errors/errors.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import { CELL } from '../actor/control-roles.ts';
import { runWorld } from '../world/run-world.ts';
import type { EndState } from './end-state.ts';
import { endStateOf } from './end-state.ts';
import { DOWN_MS, isWorkTime, SWEEP } from './scenario.ts';

/** One place at which a role can be killed: just before its event of this index. */
export interface KillPoint {
  readonly actor: string;
  readonly eventIndex: number;
}

export interface Baseline {
  readonly end: EndState;
  /** Events in all, until the work is done. */
  readonly events: number;
  readonly points: readonly KillPoint[];
}

/** The run without a crash: the end that all other runs must reach, and the events at which they can be interrupted. */
export async function baseline(): Promise<Baseline> {
  const points: KillPoint[] = [];
  let events = 0;
  const { history, violations } = await runWorld({
    ...SWEEP,
    trace: {
      event: (entry, eventIndex) => {
        if (!isWorkTime(entry.atMs)) return;
        events += 1;
        const { actor } = entry.life;
        if (/^(host|batch|service|monitor|arbiter)-\d+$/.test(actor)) points.push({ actor, eventIndex });
      },
    },
  });
  if (violations.length > 0) throw new Error(`without a crash: ${JSON.stringify(violations)}`);
  return { end: endStateOf(history, cellKeys(CELL)), events, points };
}

/**
 * I56: kills one role just before one event, starts it again later, and compares the end with that of the run without a
 * crash.
 * @returns what is wrong; empty: nothing
 */
export async function crashAt(point: KillPoint, wanted: EndState): Promise<readonly string[]> {
  try {
    const { history, violations, report } = await runWorld({
      ...SWEEP,
      killAt: { ...point, downMs: DOWN_MS },
    });
    const killed = history.actors.some(({ fact }) => fact.actor === point.actor && fact.change === 'killed');
    if (!killed) return ['no role was killed'];
    const wrong = violations.map(({ invariant, key, detail }) => `${invariant} ${key}: ${detail}`);
    return [
      ...wrong,
      ...(report?.tooLittle ?? []),
      ...differences(wanted, endStateOf(history, cellKeys(CELL))),
    ];
  } catch (error) {
    return [`broke: ${errorText(error)}`];
  }
}

function differences(wanted: EndState, got: EndState): string[] {
  const found: string[] = [];
  for (const name of new Set([...Object.keys(wanted.jobs), ...Object.keys(got.jobs)])) {
    const [a, b] = [JSON.stringify(wanted.jobs[name]), JSON.stringify(got.jobs[name])];
    if (a !== b) found.push(`I56 job ${name} came to ${String(b)}, without a crash to ${String(a)}`);
  }
  for (const what of ['leftovers', 'running'] as const) {
    const [a, b] = [wanted[what].join(' '), got[what].join(' ')];
    if (a !== b) found.push(`I56 ${what}: ${b}; without a crash: ${a}`);
  }
  return found;
}
