import type { CellKeys } from '../../src/core/cell/keys.ts';
import type { SeededRandom } from '../../src/core/random/random.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import type { History } from '../history/history.ts';
import type { Agenda } from '../agenda/agenda.ts';
import type { Life } from '../agenda/life.ts';
import type { SimNetwork } from '../network/network.ts';
import type { StoreServer } from '../store/server.ts';

/** What all actors of a world share. */
export interface Environment {
  readonly agenda: Agenda;
  /** The life of the world itself: supervisors and the nemesis act in it. */
  readonly life: Life;
  readonly random: SeededRandom;
  readonly history: History;
  readonly network: SimNetwork;
  readonly store: StoreServer;
  readonly keys: CellKeys;
  readonly logOf: (actor: string) => Log;
}
