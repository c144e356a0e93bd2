import type { Pausable, Pause, Switches } from '../../src/core/quota/quota.ts';
import { isPaused, PAUSABLE, SWITCHES_OFF } from '../../src/core/quota/quota.ts';
import type { Entry } from '../../src/ports/cell-store.ts';
import { PeriodicTask } from '../../src/runtime/wait/periodic-task.ts';
import type { PausesAnswer } from '../../src/wire/api/pause-api.ts';
import { switchesCodec } from '../../src/wire/records/records.ts';
import type { MonitorContext } from '../context.ts';
import { outcomeUnknown, refuse } from '../refusals.ts';
import { monitorRank } from '../view/rank.ts';
import type { LimitPorts } from './limits.ts';

/** Each try fails only when another operator changed the switches. */
const TRIES_MAX = 8;
const CHECK_MS = 1_000;

export function pausesOf(switches: Switches): PausesAnswer {
  const paused = PAUSABLE.filter((what) => isPaused(switches, what));
  return { pauses: Object.fromEntries(paused.map((what) => [what, switches.pauses?.[what] ?? null])) };
}

/**
 * Pauses something, or has it go on.
 *
 * @param pause null: it goes on
 * @param expected what may be replaced; anything else is left
 * @returns the switches in force, and the revision at which they hold
 * @throws ProblemError 503 when the store did not say whether it was written
 */
export async function setPause(
  { store, keys }: LimitPorts,
  what: Pausable,
  pause: Pause | null,
  expected: (known: Switches) => boolean = () => true,
): Promise<{ readonly switches: Switches; readonly revision: number }> {
  const key = keys.switches;
  let entry = (await store.read([key])).entries.get(key);
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const known = switchesIn(entry);
    if (!expected(known) || (pause === null && !isPaused(known, what)))
      return { switches: known, revision: entry?.modRevision ?? 0 };
    const switches = withPause(known, what, pause);
    const reply = await store.attempt({
      compares: [{ key, target: 'modRevision', equals: entry?.modRevision ?? 0 }],
      writes: [{ kind: 'put', key, value: switchesCodec.encode(switches) }],
      readBack: [key],
    });
    if (reply.outcome === 'applied') return { switches, revision: reply.revision };
    if (reply.outcome === 'unknown') throw outcomeUnknown('ask for the same again: twice counts once');
    entry = reply.found.get(key);
  }
  throw refuse(409, 'contended', 'others are changing what is paused; try again');
}

function withPause(known: Switches, what: Pausable, pause: Pause | null): Switches {
  const { [what]: _before, ...others } = known.pauses ?? {};
  const flag = what === 'placement' ? { pausePlacement: pause !== null } : { pauseEviction: pause !== null };
  return { ...known, ...flag, pauses: { ...others, ...(pause === null ? {} : { [what]: pause }) } };
}

function switchesIn(entry: Entry | undefined): Switches {
  return entry === undefined ? SWITCHES_OFF : switchesCodec.decode(entry.value);
}

/** Ends pauses whose time is over. Every monitor watches; the one of rank 0 acts. */
export class PauseWatch {
  readonly #deps: MonitorContext;
  readonly #checks: PeriodicTask;

  constructor(deps: MonitorContext) {
    this.#deps = deps;
    this.#checks = new PeriodicTask(deps.clock, CHECK_MS, () => this.check());
  }

  close(): Promise<void> {
    return this.#checks.close();
  }

  /** Never rejects: what fails is tried again. */
  async check(): Promise<void> {
    const { copy, clock, log } = this.#deps;
    const switches = copy.switches.get('')?.value;
    if (switches === undefined || monitorRank(this.#deps, 'pauses') !== 0) return;
    for (const what of PAUSABLE) {
      const untilMs = switches.pauses?.[what]?.untilMs;
      if (untilMs === undefined || !isPaused(switches, what) || clock.nowMs() < untilMs) continue;
      const isSame = (known: Switches): boolean => known.pauses?.[what]?.untilMs === untilMs;
      await setPause(this.#deps, what, null, isSame).catch((error: unknown) =>
        log.debug({ what, error }, 'a pause is not ended yet; it is tried again'),
      );
    }
  }
}
