import type { HostClient } from '../src/clients/host-client.ts';
import type { Clock } from '../src/ports/clock.ts';
import type { CellStore } from '../src/ports/cell-store.ts';
import type { CellKeys } from '../src/core/keys.ts';
import type { Log, Metrics } from '../src/ports/telemetry.ts';
import type { ReportFollower } from '../src/runtime/report-follower.ts';
import type { BulkWrites } from './bulk-writes.ts';
import type { CellCopy } from './cell-copy.ts';
import type { EventLog } from './event-log.ts';
import type { JobBook } from './job-status.ts';
import type { JobWatch } from './job-watch.ts';
import type { JobWrites } from './job-writes.ts';
import type { LogRelay } from './log-relay.ts';
import type { ReportRelay } from './report-relay.ts';
import type { Runs } from './runs.ts';
import type { Verdicts } from './verdicts.ts';
import type { SchedulerQuestions } from './why.ts';

/** What the routes of a monitor work with. */
export interface MonitorState {
  readonly id: string;
  readonly version: string;
  readonly startedAtMs: number;
  readonly store: CellStore;
  readonly keys: CellKeys;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly copy: CellCopy;
  readonly follower: ReportFollower;
  readonly book: JobBook;
  readonly watch: JobWatch;
  readonly writes: JobWrites;
  readonly bulk: BulkWrites;
  readonly runs: Runs;
  readonly verdicts: Verdicts;
  readonly relay: ReportRelay;
  readonly logs: LogRelay;
  readonly events: EventLog;
  readonly schedulers: SchedulerQuestions;
  readonly hosts: HostClient;
}
