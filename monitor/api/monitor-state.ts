import type { AlarmsAnswer, KeptRecords } from '../../src/wire/api/cell-api.ts';
import type { HostClient } from '../../src/clients/host-client.ts';
import type { ReportFollower } from '../../src/runtime/reports/reports.ts';
import type { PageFiles } from '../../src/ports/page.ts';
import type { Audit } from '../audit/audit.ts';
import type { MonitorContext } from '../context.ts';
import type { BulkWrites } from '../jobs/bulk-writes.ts';
import type { EventLog } from '../events/events.ts';
import type { JobStatuses } from '../jobs/jobs.ts';
import type { JobChanges } from '../jobs/job-changes.ts';
import type { JobWrites } from '../jobs/job-writes.ts';
import type { JobVersions } from '../jobs/versions.ts';
import type { LogRelay } from '../runs/log-relay.ts';
import type { ReportRelay } from '../view/report-relay.ts';
import type { ServiceNames } from '../names/names.ts';
import type { Plans } from '../jobs/plans.ts';
import type { Runs } from '../runs/runs.ts';
import type { EligibilityWriter } from '../hosts/eligibility.ts';
import type { ComingVerdict } from '../hosts/hosts.ts';
import type { SilentHosts } from '../hosts/silent-hosts.ts';
import type { SchedulerQueries } from '../jobs/why.ts';
import type { Invitations } from '../tokens/invitations.ts';
import type { HeldTokens } from '../tokens/held-tokens.ts';
import type { OpenIdProviders } from '../tokens/openid-providers.ts';
import type { Secrets } from '../tokens/secrets.ts';
import type { Tokens } from '../tokens/tokens.ts';

/** What the routes of a monitor work with. */
export interface MonitorState extends MonitorContext {
  readonly cell: string;
  readonly version: string;
  readonly startedAtMs: number;
  readonly follower: ReportFollower;
  readonly statuses: JobStatuses;
  readonly jobChanges: JobChanges;
  readonly writes: JobWrites;
  readonly versions: JobVersions;
  readonly bulk: BulkWrites;
  readonly runs: Runs;
  readonly eligibility: EligibilityWriter;
  readonly silentHosts: SilentHosts;
  /** Since when the store does not answer this monitor; null: it does. */
  readonly storeAwaySinceMs: () => number | null;
  /** When the host is declared lost; null: its session is there, or it is lost already. */
  readonly verdictOf: (host: string) => ComingVerdict | null;
  readonly relay: ReportRelay;
  readonly names: ServiceNames;
  readonly logs: LogRelay;
  readonly events: EventLog;
  readonly schedulers: SchedulerQueries;
  readonly plans: Plans;
  readonly tokens: Tokens;
  readonly secrets: Secrets;
  readonly openid: OpenIdProviders;
  /** The certificate of the key to which secrets are sealed; null: there is none here. */
  readonly hostKey: () => string | null;
  readonly heldTokens: HeldTokens;
  readonly invitations: Invitations;
  readonly audit: Audit;
  readonly kept: () => KeptRecords;
  /** Those that stand. */
  readonly alarms: () => AlarmsAnswer;
  readonly hosts: HostClient;
  readonly page: PageFiles;
}
