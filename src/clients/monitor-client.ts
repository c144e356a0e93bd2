import type { HttpAnswer, HttpClient } from '../ports/http.ts';
import type { CommandStatus, ExecRequest } from '../wire/api/exec-api.ts';
import type {
  AllocationListAnswer,
  BulkAnswer,
  CellEvent,
  EligibilityRequest,
  FenceRequest,
  HostListAnswer,
  HostStatus,
  JobListAnswer,
  LabelsRequest,
  JobStatus,
  JobSummary,
  RunAnswer,
  RunExit,
  SchedulerListAnswer,
  SubmitAnswer,
  VersionAnswer,
} from '../wire/api/monitor-api.ts';
import type { AlarmsAnswer, CellStatus, SharedResourceRequest, SharedStatus } from '../wire/api/cell-api.ts';
import type { AuditAnswer } from '../wire/access/audit-api.ts';
import type { OpenIdListAnswer, OpenIdRequest, OpenIdStatus } from '../wire/access/openid-api.ts';
import type { VolumeListAnswer } from '../wire/api/volume-api.ts';
import type { HostKeyAnswer, SecretListAnswer, SecretRequest } from '../wire/access/secret-api.ts';
import type { NameAnswer, NameFrame, NameListAnswer } from '../wire/api/names-api.ts';
import type { QuotaListAnswer, QuotaRequest, QuotaStatus } from '../wire/api/quota-api.ts';
import type { Pausable, PauseScope } from '../core/quota/pauses.ts';
import type { MovesRequest, PlanAnswer, PlanRequest } from '../wire/plan/plan.ts';
import type { BudgetPolicy } from '../core/quota/budgets.ts';
import type { RemedyPolicy } from '../core/detector/remedies.ts';
import type { BudgetsAnswer } from '../wire/budgets/budgets.ts';
import type { RemedyPolicyRequest } from '../wire/verdicts/verdict-records.ts';
import type { VerdictsAnswer } from '../wire/verdicts/verdicts.ts';
import type { PauseRequest, PausesAnswer } from '../wire/api/pause-api.ts';
import type { HistoryAnswer, RolloutAct, ScaleRequest, UndoRequest } from '../wire/api/monitor-api.ts';
import type { Why } from '../wire/api/scheduler-api.ts';
import type {
  InvitationListAnswer,
  InvitationRequest,
  JoinAnswer,
  JoinRequest,
  NewInvitation,
} from '../wire/join/join.ts';
import type { NewToken, TokenListAnswer, TokenRequest, WhoAmI } from '../wire/access/token-api.ts';
import type { CellUsage } from '../wire/api/usage-api.ts';
import type { JobRef, SecretRef } from './monitor-paths.ts';
import { pathOf, pathOfSecret, query } from './monitor-paths.ts';
import type { MonitorAddresses, MonitorCall } from './monitor-failover.ts';
import { MonitorFailover } from './monitor-failover.ts';
import type { EventsCall, LogCall, LogPart } from './monitor-streams.ts';
import { readEvents, readLogs, readNames } from './monitor-streams.ts';
import { bodyOf } from './clients.ts';
import type { PageOptions } from './list-pages.ts';
import { readPages } from './list-pages.ts';

/** Of one call: another deadline than the usual one, and a signal that ends it. */
export interface CallOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Of a list: without a limit all of it. */
export interface ListOptions extends CallOptions, PageOptions {}

export interface SubmitOptions extends CallOptions {
  /** The version that must be there now; 0: none. */
  readonly ifMatch?: number;
}

/** Absent: any. */
export interface AuditQuery {
  readonly by?: string;
  readonly act?: string;
  readonly target?: string;
  readonly namespace?: string;
  readonly since?: number;
  readonly limit?: number;
}

const CALL_TIMEOUT_MS = 15_000;
/** Several schedulers, one after the other. */
const PLAN_TIMEOUT_MS = 120_000;
/**
 * The monitors' API, typed, over several monitors. A call that may have been received is made again at another monitor
 * only when doing it twice is the same as once: reads, and writes with a key or a state that is set.
 *
 * All methods throw ProblemError for an answer that refuses, and HttpError when no monitor answers.
 */
export class MonitorClient {
  readonly #monitors: MonitorFailover;
  readonly #urls: readonly string[];
  readonly #signal: AbortSignal | undefined;

  /** @param signal ends every call that has none of its own */
  constructor(http: HttpClient, addresses: MonitorAddresses, signal?: AbortSignal) {
    this.#monitors = new MonitorFailover(http, addresses);
    this.#urls = addresses.urls;
    this.#signal = signal;
  }

  /** @param file the job as people write it */
  async submit(file: unknown, options: SubmitOptions = {}): Promise<SubmitAnswer> {
    const { ifMatch, ...call } = options;
    const headers = ifMatch === undefined ? {} : { 'if-match': String(ifMatch) };
    // The same file again changes nothing. A guarded one would refuse its own first delivery.
    const repeatable = ifMatch === undefined;
    return bodyOf(await this.#post('/v1/jobs', { ...call, body: file, headers, repeatable }));
  }

  /** At most `BULK_JOBS_MAX` files, each answered by itself; the same ones again change nothing. */
  async submitMany(files: readonly unknown[], options: CallOptions = {}): Promise<BulkAnswer> {
    return bodyOf(await this.#post('/v1/jobs/bulk', { ...options, body: files }));
  }

  /** @param idempotencyKey makes a second delivery find the first one's run */
  async run(file: unknown, idempotencyKey: string, options: CallOptions = {}): Promise<RunAnswer> {
    const headers = { 'idempotency-key': idempotencyKey };
    return bodyOf(await this.#post('/v1/runs', { ...options, body: file, headers }));
  }

  /**
   * In the order in which they were submitted; a page in that of namespaces and names.
   * @param namespace all of them without it
   */
  async jobs(namespace?: string, options: ListOptions = {}): Promise<JobListAnswer> {
    const answer = await readPages<JobListAnswer>(
      options,
      async (page) => bodyOf(await this.#get(`/v1/jobs${query({ namespace, ...page })}`, options)),
      (before, after) => ({ ...after, jobs: [...before.jobs, ...after.jobs] }),
    );
    if (options.limit !== undefined) return answer;
    return { ...answer, jobs: [...answer.jobs].sort(bySubmission) };
  }

  async status(ref: JobRef, options: CallOptions = {}): Promise<JobStatus> {
    return bodyOf(await this.#get(pathOf(ref), options));
  }

  async why(ref: JobRef, options: CallOptions = {}): Promise<Why> {
    return bodyOf(await this.#get(`${pathOf(ref)}/why`, options));
  }

  /** What would be decided if that changed. Schedulers may take some seconds for it. */
  async plan(request: PlanRequest, options: CallOptions = {}): Promise<PlanAnswer> {
    const call = { timeoutMs: PLAN_TIMEOUT_MS, ...options };
    return bodyOf(await this.#post('/v1/plan', { ...call, body: request, repeatable: true }));
  }

  async stop(ref: JobRef, options: CallOptions = {}): Promise<JobSummary> {
    return bodyOf(await this.#post(`${pathOf(ref)}/stop`, options));
  }

  async delete(ref: JobRef, options: CallOptions = {}): Promise<JobSummary> {
    const path = pathOf(ref);
    return bodyOf(await this.#call({ ...options, method: 'DELETE', path, repeatable: true }));
  }

  /** Says something about an update that is under way. */
  async steerRollout(ref: JobRef, act: RolloutAct, options: CallOptions = {}): Promise<JobSummary> {
    return bodyOf(await this.#post(`${pathOf(ref)}/rollout`, { ...options, body: { act } }));
  }

  async undo(ref: JobRef, request: UndoRequest = {}, options: CallOptions = {}): Promise<SubmitAnswer> {
    return bodyOf(await this.#post(`${pathOf(ref)}/undo`, { ...options, body: request, repeatable: false }));
  }

  async scale(ref: JobRef, request: ScaleRequest, options: CallOptions = {}): Promise<SubmitAnswer> {
    return bodyOf(await this.#post(`${pathOf(ref)}/scale`, { ...options, body: request }));
  }

  /** All that runs, in turn. */
  async restart(ref: JobRef, options: CallOptions = {}): Promise<SubmitAnswer> {
    return bodyOf(await this.#post(`${pathOf(ref)}/restart`, { ...options, repeatable: false }));
  }

  /** Allocations that are to run on other hosts, each in its turn; twice asked counts once. */
  async move(ref: JobRef, request: MovesRequest, options: CallOptions = {}): Promise<JobSummary> {
    return bodyOf(await this.#post(`${pathOf(ref)}/moves`, { ...options, body: request }));
  }

  async history(ref: JobRef, options: CallOptions = {}): Promise<HistoryAnswer> {
    return bodyOf(await this.#get(`${pathOf(ref)}/history`, options));
  }

  /** @returns null when it did not end within `waitMs` */
  async exit(ref: JobRef, waitMs: number, options: CallOptions = {}): Promise<RunExit | null> {
    const path = `${pathOf(ref)}/exit${query({ waitMs })}`;
    const answer = await this.#get(path, { timeoutMs: waitMs + CALL_TIMEOUT_MS, ...options });
    return answer.status === 204 ? null : bodyOf(answer);
  }

  async allocations(
    which: { readonly namespace?: string; readonly job?: string; readonly host?: string },
    options: ListOptions = {},
  ): Promise<AllocationListAnswer> {
    const { namespace, job, host } = which;
    return readPages<AllocationListAnswer>(
      options,
      async (page) =>
        bodyOf(await this.#get(`/v1/allocations${query({ namespace, job, host, ...page })}`, options)),
      (before, after) => ({ ...after, allocations: [...before.allocations, ...after.allocations] }),
    );
  }

  /** Base URLs, for attach sessions. */
  get addresses(): readonly string[] {
    return this.#urls;
  }

  /** Runs a command inside an allocation; the same command id again runs nothing more. */
  async exec(allocation: string, request: ExecRequest, options: CallOptions = {}): Promise<CommandStatus> {
    const path = `/v1/allocations/${encodeURIComponent(allocation)}/exec`;
    return bodyOf(await this.#post(path, { ...options, body: request }));
  }

  async hosts(options: ListOptions = {}): Promise<HostListAnswer> {
    return readPages<HostListAnswer>(
      options,
      async (page) => bodyOf(await this.#get(`/v1/hosts${query({ ...page })}`, options)),
      (before, after) => ({ ...after, hosts: [...before.hosts, ...after.hosts] }),
    );
  }

  async host(id: string, options: CallOptions = {}): Promise<HostStatus> {
    return bodyOf(await this.#get(`/v1/hosts/${encodeURIComponent(id)}`, options));
  }

  /** The cell as a whole: its store, and what its hosts share. */
  async cell(options: CallOptions = {}): Promise<CellStatus> {
    return bodyOf(await this.#get('/v1/cell', options));
  }

  /** Defines something that hosts share. */
  setShared(name: string, body: SharedResourceRequest, options?: CallOptions): Promise<SharedStatus> {
    return this.#put(sharedPath(name), body, options);
  }

  async removeShared(name: string, options: CallOptions = {}): Promise<void> {
    await this.#call({ ...options, method: 'DELETE', path: sharedPath(name), repeatable: true });
  }

  /** What namespaces may use, and do. */
  async quotas(options: CallOptions = {}): Promise<QuotaListAnswer> {
    return bodyOf(await this.#get('/v1/quotas', options));
  }

  setQuota(namespace: string, body: QuotaRequest, options?: CallOptions): Promise<QuotaStatus> {
    return this.#put(quotaPath(namespace), body, options);
  }

  async removeQuota(namespace: string, options: CallOptions = {}): Promise<void> {
    await this.#call({ ...options, method: 'DELETE', path: quotaPath(namespace), repeatable: true });
  }

  /** What runs uses now, by host. @param which all of it without a namespace */
  async usage(
    which: { readonly namespace?: string; readonly job?: string },
    options: CallOptions = {},
  ): Promise<CellUsage> {
    const { namespace, job } = which;
    return bodyOf(await this.#get(`/v1/usage${query({ namespace, job })}`, options));
  }

  async setEligibility(
    host: string,
    request: EligibilityRequest,
    options: CallOptions = {},
  ): Promise<HostStatus> {
    const path = `/v1/hosts/${encodeURIComponent(host)}/eligibility`;
    return bodyOf(await this.#post(path, { ...options, body: request }));
  }

  async label(host: string, request: LabelsRequest, options: CallOptions = {}): Promise<HostStatus> {
    const path = `/v1/hosts/${encodeURIComponent(host)}/labels`;
    return bodyOf(await this.#post(path, { ...options, body: request }));
  }

  /** Says in place of a fence that a lost host runs nothing more of what was placed there. */
  async fenced(host: string, request: FenceRequest, options: CallOptions = {}): Promise<HostStatus> {
    const path = `/v1/hosts/${encodeURIComponent(host)}/fences`;
    return bodyOf(await this.#post(path, { ...options, body: request }));
  }

  /** Gives a silent host up for good. */
  async removeHost(host: string, reason: string, options: CallOptions = {}): Promise<HostStatus> {
    const path = `/v1/hosts/${encodeURIComponent(host)}${query({ reason })}`;
    return bodyOf(await this.#call({ ...options, method: 'DELETE', path, repeatable: true }));
  }

  async pause(what: Pausable, request: PauseRequest, options: CallOptions = {}): Promise<PausesAnswer> {
    return await this.#put(`/v1/pauses/${what}`, request, options);
  }

  async resume(what: Pausable, scope: PauseScope = {}, options: CallOptions = {}): Promise<PausesAnswer> {
    const { namespace, job, pool, host } = scope;
    const path = `/v1/pauses/${what}${query({ namespace, job, pool, host })}`;
    return bodyOf(await this.#call({ ...options, method: 'DELETE', path, repeatable: true }));
  }

  async pauses(options: CallOptions = {}): Promise<PausesAnswer> {
    return bodyOf(await this.#get('/v1/pauses', options));
  }

  async alarms(options: CallOptions = {}): Promise<AlarmsAnswer> {
    return bodyOf(await this.#get('/v1/alarms', options));
  }

  async verdicts(options: CallOptions = {}): Promise<VerdictsAnswer> {
    return bodyOf(await this.#get('/v1/verdicts', options));
  }

  /** @param suspect as the verdict names it */
  async clearVerdict(suspect: string, options: CallOptions = {}): Promise<VerdictsAnswer> {
    const path = `/v1/verdicts${query({ suspect })}`;
    return bodyOf(await this.#call({ ...options, method: 'DELETE', path, repeatable: true }));
  }

  async remedies(options: CallOptions = {}): Promise<RemedyPolicy> {
    return bodyOf(await this.#get('/v1/remedies', options));
  }

  async setRemedies(policy: RemedyPolicyRequest, options: CallOptions = {}): Promise<RemedyPolicy> {
    return await this.#put('/v1/remedies', policy, options);
  }

  async budgets(options: CallOptions = {}): Promise<BudgetsAnswer> {
    return bodyOf(await this.#get('/v1/budgets', options));
  }

  /** @param policy what is left out is not bounded */
  async setBudgets(policy: BudgetPolicy, options: CallOptions = {}): Promise<BudgetsAnswer> {
    return await this.#put('/v1/budgets', policy, options);
  }

  async schedulers(options: CallOptions = {}): Promise<SchedulerListAnswer> {
    return bodyOf(await this.#get('/v1/schedulers', options));
  }

  /** Who the caller is to the cell. */
  async whoAmI(options: CallOptions = {}): Promise<WhoAmI> {
    return bodyOf(await this.#get('/v1/whoami', options));
  }

  async tokens(options: CallOptions = {}): Promise<TokenListAnswer> {
    return bodyOf(await this.#get('/v1/tokens', options));
  }

  /** Each delivery makes another token. */
  async createToken(request: TokenRequest, options: CallOptions = {}): Promise<NewToken> {
    return bodyOf(await this.#post('/v1/tokens', { ...options, body: request, repeatable: false }));
  }

  async revokeToken(id: string, options: CallOptions = {}): Promise<void> {
    const path = `/v1/tokens/${encodeURIComponent(id)}`;
    bodyOf(await this.#call({ ...options, method: 'DELETE', path, repeatable: false }));
  }

  /** Each delivery makes another invitation. */
  async invite(request: InvitationRequest, options: CallOptions = {}): Promise<NewInvitation> {
    return bodyOf(await this.#post('/v1/invitations', { ...options, body: request, repeatable: false }));
  }

  async invitations(options: CallOptions = {}): Promise<InvitationListAnswer> {
    return bodyOf(await this.#get('/v1/invitations', options));
  }

  async uninvite(id: string, options: CallOptions = {}): Promise<void> {
    const path = `/v1/invitations/${encodeURIComponent(id)}`;
    bodyOf(await this.#call({ ...options, method: 'DELETE', path, repeatable: false }));
  }

  /** The same key may ask again. */
  async join(request: JoinRequest, options: CallOptions = {}): Promise<JoinAnswer> {
    return bodyOf(await this.#post('/v1/join', { ...options, body: request, repeatable: true }));
  }

  async openIdProviders(options: CallOptions = {}): Promise<OpenIdListAnswer> {
    return bodyOf(await this.#get('/v1/openid', options));
  }

  setOpenId(name: string, body: OpenIdRequest, options?: CallOptions): Promise<OpenIdStatus> {
    return this.#put(openIdPath(name), body, options);
  }

  async deleteOpenId(name: string, options: CallOptions = {}): Promise<void> {
    bodyOf(await this.#call({ ...options, method: 'DELETE', path: openIdPath(name), repeatable: false }));
  }

  async secrets(namespace: string | undefined, options: CallOptions = {}): Promise<SecretListAnswer> {
    return bodyOf(await this.#get(`/v1/secrets${query({ namespace })}`, options));
  }

  async hostKey(options: CallOptions = {}): Promise<HostKeyAnswer> {
    return bodyOf(await this.#get('/v1/secrets-key', options));
  }

  async setSecret(of: SecretRef, body: SecretRequest, options: CallOptions = {}): Promise<void> {
    bodyOf(await this.#call({ ...options, method: 'PUT', path: pathOfSecret(of), body, repeatable: true }));
  }

  async deleteSecret(of: SecretRef, options: CallOptions = {}): Promise<void> {
    bodyOf(await this.#call({ ...options, method: 'DELETE', path: pathOfSecret(of), repeatable: false }));
  }

  async volumes(namespace: string | undefined, options: CallOptions = {}): Promise<VolumeListAnswer> {
    return bodyOf(await this.#get(`/v1/volumes${query({ namespace })}`, options));
  }

  /** @param lost data on a host that does not answer is given up */
  async deleteVolume(
    {
      namespace,
      claim,
      lost,
    }: { readonly namespace: string; readonly claim: string; readonly lost: boolean },
    options: CallOptions = {},
  ): Promise<void> {
    const path = `/v1/volumes/${encodeURIComponent(namespace)}/${encodeURIComponent(claim)}`;
    const call = { method: 'DELETE', path: `${path}${query({ lost: lost ? true : undefined })}` } as const;
    bodyOf(await this.#call({ ...options, ...call, repeatable: false }));
  }

  /** Who did what, the newest last. */
  async audit(which: AuditQuery, options: CallOptions = {}): Promise<AuditAnswer> {
    return bodyOf(await this.#get(`/v1/audit${query({ ...which })}`, options));
  }

  async version(options: CallOptions = {}): Promise<VersionAnswer> {
    return bodyOf(await this.#get('/version', options));
  }

  /** Of the monitor that answers, as Prometheus reads them. */
  async metrics(options: CallOptions = {}): Promise<string> {
    return bodyOf(await this.#get('/metrics', options));
  }

  /** See `readLogs`. */
  logs(ref: JobRef, call: LogCall): AsyncGenerator<LogPart, string | null> {
    return readLogs(this.#monitors, ref, call, call.signal ?? this.#signal);
  }

  /** Who serves each name. @param namespace all of them without it */
  async names(namespace?: string, options: CallOptions = {}): Promise<NameListAnswer> {
    return bodyOf(await this.#get(`/v1/names${query({ namespace })}`, options));
  }

  async name(name: string, options: CallOptions = {}): Promise<NameAnswer> {
    return bodyOf(await this.#get(`/v1/names/${encodeURIComponent(name)}`, options));
  }

  /** See `readNames`. */
  followNames(which: { readonly name?: string; readonly namespace?: string }): AsyncGenerator<NameFrame> {
    const { name, namespace } = which;
    return readNames(this.#monitors, { namespace, names: name }, this.#signal);
  }

  /** See `readEvents`. */
  events(since: string, call: EventsCall): AsyncGenerator<CellEvent> {
    return readEvents(this.#monitors, since, call, call.signal ?? this.#signal);
  }

  #get(path: string, options: CallOptions): Promise<HttpAnswer> {
    return this.#call({ ...GET, ...options, path });
  }

  #post(
    path: string,
    options: CallOptions & Partial<Pick<MonitorCall, 'body' | 'headers' | 'repeatable'>>,
  ): Promise<HttpAnswer> {
    return this.#call({ repeatable: true, ...options, method: 'POST', path });
  }

  async #put<T>(path: string, body: unknown, options?: CallOptions): Promise<T> {
    return bodyOf(await this.#call({ ...options, method: 'PUT', path, body, repeatable: true }));
  }

  #call(call: Omit<MonitorCall, 'timeoutMs'> & CallOptions): Promise<HttpAnswer> {
    return this.#monitors.call({ timeoutMs: CALL_TIMEOUT_MS, signal: this.#signal, ...call });
  }
}

const GET = { method: 'GET', repeatable: true } as const;

function sharedPath(name: string): string {
  return `/v1/shared/${encodeURIComponent(name)}`;
}

function openIdPath(name: string): string {
  return `/v1/openid/${encodeURIComponent(name)}`;
}

function quotaPath(namespace: string): string {
  return `/v1/quotas/${encodeURIComponent(namespace)}`;
}

function bySubmission(a: JobSummary, b: JobSummary): number {
  return a.submittedAtMs - b.submittedAtMs || a.name.localeCompare(b.name);
}
