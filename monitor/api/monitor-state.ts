import type { HostClient } from '../../src/clients/host-client.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { CellStore } from '../../src/ports/cell-store.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import type { Log, Metrics } from '../../src/ports/telemetry.ts';
import type { ReportFollower } from '../../src/runtime/reports/reports.ts';
import type { BulkWrites } from '../jobs/bulk-writes.ts';
import type { CellCopy } from '../view/view.ts';
import type { EventLog } from '../events/events.ts';
import type { JobStatuses } from '../jobs/jobs.ts';
import type { JobChanges } from '../jobs/job-changes.ts';
import type { JobWrites } from '../jobs/job-writes.ts';
import type { LogRelay } from '../runs/log-relay.ts';
import type { ReportRelay } from '../view/report-relay.ts';
import type { Runs } from '../runs/runs.ts';
import type { EligibilityWriter } from '../hosts/eligibility.ts';
import type { SchedulerQueries } from '../jobs/why.ts';

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
  readonly statuses: JobStatuses;
  readonly jobChanges: JobChanges;
  readonly writes: JobWrites;
  readonly bulk: BulkWrites;
  readonly runs: Runs;
  readonly eligibility: EligibilityWriter;
  readonly relay: ReportRelay;
  readonly logs: LogRelay;
  readonly events: EventLog;
  readonly schedulers: SchedulerQueries;
  readonly hosts: HostClient;
}
