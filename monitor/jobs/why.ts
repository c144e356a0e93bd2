import { schedulerKindOf } from '../../src/core/cell/job.ts';
import type { JobRecord } from '../../src/core/cell/job.ts';
import { SchedulerClient } from '../../src/clients/scheduler-client.ts';
import type { HttpClient } from '../../src/ports/http.ts';
import { HttpError } from '../../src/ports/http.ts';
import type { JobSummary, RunExit, SchedulerListAnswer, SilentHost } from '../../src/wire/api/monitor-api.ts';
import { isLooping, restartsText } from '../../src/core/slots/restarts.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { Why } from '../../src/wire/api/scheduler-api.ts';
import { HELD_STAGE } from '../../src/wire/api/scheduler-api.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { SilentHosts } from '../hosts/silent-hosts.ts';
import type { CellCopy } from '../view/view.ts';
import type { JobStatuses } from './jobs.ts';

const ASK_TIMEOUT_MS = 2_000;

/** Asks the schedulers: only they know what they do, and why a job waits. */
export class SchedulerQueries {
  readonly #copy: CellCopy;
  readonly #client: SchedulerClient;

  constructor(copy: CellCopy, http: HttpClient) {
    this.#copy = copy;
    this.#client = new SchedulerClient(http, { timeoutMs: ASK_TIMEOUT_MS });
  }

  async list(): Promise<SchedulerListAnswer> {
    const roles = [...this.#copy.roles.rows()].map(([, row]) => row.value);
    const asked = roles
      .filter((role) => role.kind === 'scheduler')
      .sort((a, b) => a.id.localeCompare(b.id))
      .map(async ({ id, address }) => ({
        id,
        status: await answerOf(this.#client.status(address)),
      }));
    const answers = await Promise.all(asked);
    return {
      schedulers: answers.flatMap(({ status }) => (status === null ? [] : [status])),
      unreachable: answers.flatMap(({ id, status }) => (status === null ? [id] : [])),
    };
  }

  /** The owner's answer, or why no scheduler can be asked. */
  async why(jobKey: string, record: JobRecord, standing: Standing): Promise<Why> {
    const why = await this.#why(jobKey, record, standing);
    const { restarts } = standing.summary;
    if (!isLooping(restarts, standing.nowMs)) return why;
    return { ...why, summary: `${why.summary}; started again ${restartsText(restarts)}` };
  }

  async #why(jobKey: string, record: JobRecord, standing: Standing): Promise<Why> {
    const owner = this.#copy.owners.get(jobKey)?.value.scheduler;
    const finished = finishedAs(record, standing);
    if (finished !== null)
      return (
        (await this.#heldBack(record, standing, owner)) ??
        explained(record, owner ?? '', finished, standing.summary.phase, 0)
      );
    if (owner === undefined) return this.#unowned(record);
    const address = this.#copy.roles.get(`scheduler/${owner}`)?.value.address;
    if (address === undefined)
      return explained(record, owner, `its owner ${owner} is gone; another takes over`, 'unowned');
    const { namespace, name } = record.job;
    const answer = await answerOf(this.#client.why(address, namespace, name));
    if (answer === null)
      return explained(record, owner, `its owner ${owner} does not answer`, 'owner-silent');
    return {
      ...answer,
      summary: [answer.summary, ...standing.silent.map(({ detail }) => detail)].join('; '),
    };
  }

  /** All of it runs, and some is to run elsewhere: its owner knows. @returns null: none of it waits for a budget */
  async #heldBack(record: JobRecord, standing: Standing, owner = ''): Promise<Why | null> {
    const isBounded = Object.keys(this.#copy.budgets.get('')?.value ?? {}).length > 0;
    const address = this.#copy.roles.get(`scheduler/${owner}`)?.value.address;
    if (!isBounded || standing.summary.counts.running === 0 || address === undefined) return null;
    const answer = await answerOf(this.#client.why(address, record.job.namespace, record.job.name));
    return answer?.groups.some(({ stage }) => stage === HELD_STAGE) === true ? answer : null;
  }

  #unowned(record: JobRecord): Why {
    const kind = schedulerKindOf(record.job);
    const schedulers = [...this.#copy.roles.rows()].map(([, row]) => row.value);
    const able = schedulers.filter((role) => role.kind === 'scheduler' && isOfKind(role.policy, kind));
    if (able.length === 0) return explained(record, '', `no scheduler of kind ${kind} is alive`, 'unowned');
    const names = able.map((role) => role.id).join(', ');
    return explained(record, '', `no scheduler has taken it yet; ${names} could`, 'unowned');
  }
}

/** @returns null without an answer */
async function answerOf<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof HttpError || error instanceof ProblemError) return null;
    throw error;
  }
}

/** A policy may have a name beyond its kind: `batch-fast`. */
export function isOfKind(policy: string, kind: string): boolean {
  return policy === kind || policy.startsWith(`${kind}-`);
}

/** A job's status by this monitor's own view. */
export interface Standing {
  readonly summary: JobSummary;
  readonly exit: RunExit | null;
  /** Hosts with allocations of the job that do not report. */
  readonly silent: readonly SilentHost[];
  /** Sentences about running allocations that are not ready, or were started again. */
  readonly troubled: readonly string[];
  /** Allocations are still to be replaced: its owner knows why they are not. */
  readonly isUpdating: boolean;
  readonly nowMs: number;
}

/** @returns null: there is no such job */
export function standingOf({ statuses, silentHosts, clock }: StandingParts, jobKey: string): Standing | null {
  const summary = statuses.summary(jobKey);
  if (summary === null) return null;
  return {
    summary,
    silent: silentHosts.of(jobKey),
    exit: statuses.exit(jobKey),
    troubled: statuses.troubled(jobKey),
    isUpdating: statuses.isUpdating(jobKey),
    nowMs: clock.nowMs(),
  };
}

export interface StandingParts {
  readonly statuses: JobStatuses;
  readonly silentHosts: SilentHosts;
  readonly clock: Clock;
}

/** The answer for a job that waits for nothing; null: its owner knows more. */
function finishedAs(record: JobRecord, standing: Standing): string | null {
  const { summary, exit, silent, troubled, isUpdating, nowMs } = standing;
  const { phase, counts } = summary;
  if (phase === 'complete') return 'complete: nothing to explain';
  if (phase === 'stopped') return 'stopped, as it was told to: nothing waits';
  if (phase === 'failed') return `failed: ${exit?.reason ?? 'no more tries are left'}`;
  const waits = silent.map(({ detail }) => detail).join('; ');
  if (record.desired === 'stop') {
    const placed = [`${String(counts.placed)} still on their hosts`, ...troubled].join('; ');
    return `told to stop: ${waits === '' ? placed : waits}`;
  }
  if (isUpdating || (counts.desiredMax !== undefined && silent.length === 0)) return null;
  const live = counts.running + (record.job.type === 'batch' ? counts.complete : 0);
  if (counts.desired > 0 && live >= counts.desired) {
    if (isLooping(summary.restarts, nowMs)) return 'looping: it ends soon after each start';
    return [
      `running: ${String(counts.running)} run, ${waits === '' ? 'nothing waits' : `but as last heard: ${waits}`}`,
      ...troubled,
    ].join('; ');
  }
  return null;
}

function explained(
  { job }: JobRecord,
  scheduler: string,
  summary: string,
  stage: string,
  pending: number | null = null,
): Why {
  const nothingTried = { tries: 0, conflicts: 0, nextTryMs: null, hosts: [], hostsTotal: 0, refusals: [] };
  return {
    namespace: job.namespace,
    job: job.name,
    scheduler,
    summary,
    groups: Object.values(job.groups).map((group) => ({
      ...nothingTried,
      group: group.name,
      pending: pending ?? group.count,
      stage,
      detail: summary,
    })),
  };
}
