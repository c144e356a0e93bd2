/**
 * The loops that the roles share, without any rule of scheduling. Each room uses only the ones before it:
 *
 * - `wait/`: waiting on the clock port, with deadlines and backoff
 * - `stream/`: one source for many readers, and NDJSON
 * - `records/`: live copies of the store's records
 * - `reports/`: follows what hosts report, and merges it into one view
 * - `commit/`: writes plans to the store
 * - `faults/`: fail-points around every I/O of a role
 *
 * `runtime.ts` names the ports that nearly all of them take.
 */
import type { CellKeys } from '../core/cell/keys.ts';
import type { CellStore } from '../ports/cell-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { Log, Metrics, Tracer } from '../ports/telemetry.ts';

export interface RolePorts {
  readonly store: CellStore;
  readonly keys: CellKeys;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer;
}
