import type { Pausable, Pause, PauseScope } from '../../src/core/quota/pauses.ts';
import { isInForce, pauseName, PAUSABLE } from '../../src/core/quota/pauses.ts';
import { changeRecord } from '../../src/runtime/records/change-record.ts';
import { PeriodicTask } from '../../src/runtime/wait/periodic-task.ts';
import { pauseCodec } from '../../src/wire/records/records.ts';
import type { MonitorContext } from '../context.ts';
import { outcomeUnknown, refuse } from '../refusals.ts';
import { monitorRank } from '../view/rank.ts';
import type { CellCopy } from '../view/view.ts';
import type { LimitPorts } from './limits.ts';

const CHECK_MS = 1_000;
/** So long the record of an ended pause is kept: what an update may take is counted from its end. */
export const ENDED_KEPT_MS = 24 * 3_600_000;
/** All schedulers and agents hold them. */
export const PAUSES_MAX = 1_000;

/** What is paused now, the widest scopes first. */
export function pausesIn({ pauses }: Pick<CellCopy, 'pauses'>): readonly Pause[] {
  const order = (pause: Pause): string => {
    const width =
      pause.host !== undefined ? 4 : pause.pool !== undefined ? 3 : pause.job !== undefined ? 2 : 1;
    const at = pause.namespace === undefined && width === 1 ? 0 : width;
    return `${String(at)} ${String(PAUSABLE.indexOf(pause.what))} ${pauseName(pause.what, pause)}`;
  };
  return [...pauses.rows()]
    .map(([, { value }]) => value)
    .filter(isInForce)
    .sort((a, b) => (order(a) < order(b) ? -1 : 1));
}

/**
 * Pauses something, or has it go on.
 *
 * @param pause null: it goes on
 * @param expected what may be replaced; anything else is left
 * @returns the revision at which it holds
 * @throws ProblemError 503 when the store did not say whether it was written
 */
export async function setPause(
  { store, keys, clock }: LimitPorts & Pick<MonitorContext, 'clock'>,
  what: Pausable,
  scope: PauseScope,
  pause: Omit<Pause, 'what' | keyof PauseScope> | null,
  expected: (known: Pause) => boolean = () => true,
): Promise<number> {
  const change = await changeRecord(store, keys.pause(pauseName(what, scope)), pauseCodec, (known) => {
    if (pause === null && (!isInForce(known) || !expected(known))) return null;
    return { ...(pause ?? ended(known, clock.nowMs())), ...scope, what };
  });
  if (change.kind === 'unknown') throw outcomeUnknown('ask for the same again: twice counts once');
  if (change.kind === 'contended')
    throw refuse(409, 'contended', 'others are changing what is paused; try again');
  return change.revision;
}

function ended(known: Pause | undefined, nowMs: number): Omit<Pause, 'what' | keyof PauseScope> {
  if (known === undefined) throw new Error('what is not paused cannot end');
  return { ...known, endedAtMs: Math.round(nowMs) };
}

/** Ends pauses whose time is over, and deletes those that ended long ago. Every monitor watches; the one of rank 0 acts. */
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
    if (copy.pauses.size === 0 || monitorRank(this.#deps, 'pauses') !== 0) return;
    for (const [name, { value, modRevision }] of [...copy.pauses.rows()]) {
      const nowMs = clock.nowMs();
      try {
        if (value.endedAtMs !== undefined) {
          if (nowMs >= value.endedAtMs + ENDED_KEPT_MS) await this.#delete(name, modRevision);
        } else if (value.untilMs !== undefined && nowMs >= value.untilMs) {
          const isSame = (known: Pause): boolean => known.untilMs === value.untilMs;
          await setPause(this.#deps, value.what, value, null, isSame);
        }
      } catch (error) {
        log.debug({ pause: name, error }, 'a pause is not ended yet; it is tried again');
      }
    }
  }

  async #delete(name: string, revision: number): Promise<void> {
    const { store, keys } = this.#deps;
    const key = keys.pause(name);
    await store.attempt({
      compares: [{ key, target: 'modRevision', equals: revision }],
      writes: [{ kind: 'delete', key }],
      readBack: [],
    });
  }
}
