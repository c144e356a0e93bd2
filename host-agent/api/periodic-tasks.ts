import type { Clock } from '../../src/ports/clock.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import { REPORT_BEAT_MS } from '../../src/runtime/reports/beat-interval.ts';
import { every } from '../../src/runtime/wait/wait.ts';
import type { HostAgent } from '../agent.ts';
import type { Registrar } from './registration.ts';

export interface PeriodicTaskOptions {
  /** How often each agent says that it is there. */
  readonly beatMs: number;
  /** How often everything is looked at afresh, whatever was told. */
  readonly rescanMs: number;
  /** How often the time is recorded, so that a clock that was set back is noticed after a restart. */
  readonly recordTimeMs: number;
  /** How often a disk that failed is tried again, and its reserve laid down. */
  readonly diskMs: number;
  /** How often what was left behind is looked for. */
  readonly leaksMs: number;
}

export const PERIODIC_TASKS: PeriodicTaskOptions = {
  beatMs: REPORT_BEAT_MS,
  rescanMs: 5_000,
  recordTimeMs: 10_000,
  diskMs: 2_000,
  leaksMs: 60_000,
};

/**
 * What agents do again and again, for all agents of a process at once.
 * @param registrar told when one of them says something else of its host; knows when the cell was last in contact
 * @returns ends it
 */
export function startPeriodicTasks(
  clock: Clock,
  log: Log,
  agents: readonly HostAgent[],
  options: PeriodicTaskOptions = PERIODIC_TASKS,
  registrar?: Pick<Registrar, 'refresh' | 'contactAtMs'>,
): () => void {
  const ends = [
    every(clock, options.beatMs, () => {
      const contactAtMs = registrar?.contactAtMs ?? null;
      for (const agent of agents) {
        agent.beat();
        if (contactAtMs !== null) void agent.noteContact(contactAtMs);
      }
    }),
    every(clock, options.rescanMs, () => agents.forEach((agent) => agent.rescan())),
    every(clock, options.recordTimeMs, () => {
      for (const agent of agents)
        agent.recordTime().catch((error: unknown) => log.warn({ error }, 'cannot record the time'));
    }),
    every(clock, options.diskMs, () => {
      for (const agent of agents) void agent.lookAtDisk();
    }),
    every(clock, options.leaksMs, () => {
      for (const agent of agents)
        void agent.lookForLeaks().then((changed) => changed && registrar?.refresh());
    }),
  ];
  for (const agent of agents) {
    ends.push(onAndOn(clock, () => agent.guardMemory()));
    ends.push(onAndOn(clock, () => agent.watchFolders()));
  }
  return () => ends.forEach((end) => end());
}

/** Again after as long as the work says. */
function onAndOn(clock: Clock, work: () => Promise<number>): () => void {
  let over = false;
  let cancel = (): void => undefined;
  const next = async (): Promise<void> => {
    const delayMs = await work();
    if (!over) cancel = clock.after(delayMs, () => void next());
  };
  cancel = clock.after(0, () => void next());
  return () => {
    over = true;
    cancel();
  };
}
