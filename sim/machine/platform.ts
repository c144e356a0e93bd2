import type { SeededRandom } from '../../src/core/random/random.ts';
import type { History } from '../history/history.ts';
import type { Agenda } from '../agenda/agenda.ts';
import type { Life } from '../agenda/life.ts';
import type { Overlay } from '../agenda/overlay.ts';
import type { Timekeeper } from '../agenda/virtual-clock.ts';
import type { DiskContent } from './disk-content.ts';
import type { DiskFaultProfile } from './disk-faults.ts';

export interface StartSettings {
  /** Chance that a task's process cannot be started. */
  readonly failing: number;
  /** How many times longer a start takes. */
  readonly slowness: number;
  /** No further process can be made. */
  readonly refused: boolean;
}

/** What a machine offers to the tasks on it, for as long as it is not booted again. */
export interface Platform {
  readonly host: string;
  readonly agenda: Agenda;
  readonly random: SeededRandom;
  readonly history: History;
  readonly time: Timekeeper;
  readonly content: DiskContent;
  readonly disk: DiskFaultProfile;
  readonly starts: Overlay<StartSettings>;
  readonly life: Life;
}
