import { sees } from '../../src/core/access/access.ts';
import { jobKeyOf } from '../../src/core/cell/ids.ts';
import { standingOf } from '../jobs/why.ts';
import type { Job } from '../../src/core/cell/job.ts';
import { logIds } from '../../src/core/trace/trace.ts';
import type { Route, RouteReply, RouteRequest } from '../../src/ports/http.ts';
import type { JobProblem } from '../../src/wire/job-file/job-file.ts';
import { JobReader, parseJobObject, parseRunObject } from '../../src/wire/job-file/job-file.ts';
import type { ListedJob } from '../../src/wire/job-file/listed-job.ts';
import type { ProblemError } from '../../src/wire/api/problem.ts';
import { readPlanRequest } from '../../src/wire/plan/plan-requests.ts';
import type { AllocationStatus, BulkResult, JobSummary } from '../../src/wire/api/monitor-api.ts';
import { BULK_BYTES_MAX, BULK_JOBS_MAX } from '../../src/wire/api/monitor-api.ts';
import { faultsOf } from '../detector/verdicts.ts';
import type { MonitorState } from './monitor-state.ts';
import { TimeSlice } from '../../src/runtime/wait/time-slice.ts';
import { withDeadline } from '../../src/runtime/wait/wait.ts';
import { REQUEST_ID_HEADER } from '../../src/wire/access/audit-api.ts';
import { plannedDrains } from '../hosts/host-status.ts';
import { changeOf, seenBy } from '../jobs/plan-answer.ts';
import { withQuotas } from '../jobs/plan-quotas.ts';
import { waitingMoves } from '../jobs/moves.ts';
import { tracedSubmit } from '../jobs/traced-submit.ts';
import { cellUsage } from '../jobs/usage.ts';
import { noSuchJob, refuse } from '../refusals.ts';
import { problemOfPart } from './problems.ts';
import {
  byText,
  caughtUp,
  countIn,
  cursorOf,
  findJob,
  idIn,
  jobKeyIn,
  namespaceIn,
  pageIn,
  nextIn,
  pageOf,
  revisionHeader,
} from './requests.ts';
import { checkSubmits } from './sight.ts';
import { storeAwayText } from '../../src/wire/values/words.ts';

/** Jobs of a list that were summed up before cost next to nothing. */
const LISTED_IN_A_TURN_MAX = 1_024;
/** Proxies may cut a longer poll. */
const WAIT_MS_MAX = 60_000;
export function jobRoutes(state: MonitorState): Route[] {
  // One for all lists: the next list mostly has jobs like those of the last one.
  const reader = new JobReader();
  return [
    { method: 'POST', path: '/v1/jobs', right: 'submit', handle: (request) => submit(state, request) },
    {
      method: 'POST',
      path: '/v1/jobs/bulk',
      right: 'submit',
      bodyBytesMax: BULK_BYTES_MAX,
      handle: (request) => submitMany(state, reader, request),
    },
    { method: 'GET', path: '/v1/jobs', right: 'read', handle: (request) => list(state, request) },
    {
      method: 'GET',
      path: '/v1/jobs/:namespace/:job',
      right: 'read',
      handle: (request) => status(state, request),
    },
    {
      method: 'DELETE',
      path: '/v1/jobs/:namespace/:job',
      right: 'submit',
      handle: (request) => remove(state, request),
    },
    {
      method: 'GET',
      path: '/v1/jobs/:namespace/:job/why',
      right: 'read',
      handle: (request) => why(state, request),
    },
    {
      method: 'POST',
      path: '/v1/jobs/:namespace/:job/stop',
      right: 'submit',
      handle: (request) => stop(state, request),
    },
    {
      method: 'GET',
      path: '/v1/jobs/:namespace/:job/exit',
      right: 'read',
      handle: (request) => exit(state, request),
    },
    {
      ...{ method: 'POST', path: '/v1/plan', right: 'read', reads: true },
      handle: (request) => plan(state, request),
    },
    { method: 'POST', path: '/v1/runs', right: 'submit', handle: (request) => run(state, request) },
    {
      method: 'GET',
      path: '/v1/allocations',
      right: 'read',
      handle: async (request) => allocations(state, request),
    },
    { method: 'GET', path: '/v1/usage', right: 'read', handle: (request) => usage(state, request) },
  ];
}

async function submit(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const job = { ...readJob(request.body), oneOff: false };
  checkSubmits(request.peer, job.namespace);
  const ifMatch = versionIn(request);
  const { answer, revision } = await tracedSubmit(
    state,
    request,
    (traceparent) => state.writes.submit(job, { ifMatch, traceparent }),
    (written) => ({ job: jobKeyOf(job.namespace, job.name), version: written.answer.version }),
  );
  return {
    status: answer.changed ? 201 : 200,
    headers: { etag: `"${String(answer.version)}"`, ...revisionHeader(revision) },
    body: answer,
  };
}

async function submitMany(
  state: MonitorState,
  reader: JobReader,
  request: RouteRequest,
): Promise<RouteReply> {
  const { body } = request;
  if (!Array.isArray(body) || body.length === 0 || body.length > BULK_JOBS_MAX)
    throw refuse(400, 'bad-request', `a list of 1 to ${String(BULK_JOBS_MAX)} jobs is needed`);
  const results = new Array<BulkResult | undefined>(body.length).fill(undefined);
  const jobs: ListedJob[] = [];
  const places: number[] = [];
  for (const [place, file] of body.entries()) {
    try {
      const reading = reader.read(file);
      if (!reading.ok) throw badJob(reading.problems);
      checkSubmits(request.peer, reading.listed.job.namespace);
      jobs.push(reading.listed);
      places.push(place);
    } catch (error) {
      results[place] = { problem: problemOfPart(error) };
    }
  }
  const submitted = await tracedSubmit(
    state,
    request,
    (traceparent) => state.bulk.submit(jobs, traceparent),
    () => ({ jobs: jobs.length }),
  );
  let last = state.copy.changedAt;
  for (const [i, one] of submitted.entries()) {
    if ('answer' in one) last = Math.max(last, one.revision);
    results[places[i] ?? 0] = 'answer' in one ? one.answer : { problem: problemOfPart(one.error) };
  }
  return { status: 200, headers: revisionHeader(last), body: { results } };
}

/** What would be decided if something changed. Nothing is written. */
async function plan(state: MonitorState, { body, peer }: RouteRequest): Promise<RouteReply> {
  const { writes, plans, copy } = state;
  const request = readPlanRequest(body);
  if (request.rebalance !== undefined)
    return { status: 200, body: seenBy(peer, await plans.rebalance(request.rebalance.budget)) };
  if (request.submit === undefined)
    return {
      status: 200,
      body: seenBy(peer, await withQuotas(state, await plans.hosts(changeOf(copy, request)))),
    };
  const job = { ...readJob(request.submit), oneOff: false };
  checkSubmits(peer, job.namespace);
  const { record, versionBefore } = await writes.preview(job);
  const answer = await withQuotas(state, await plans.submit(record), record);
  return { status: 200, body: seenBy(peer, { ...answer, versionBefore }) };
}

async function run(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const key = request.headers['idempotency-key'];
  if (key === undefined)
    throw refuse(400, 'bad-request', 'a one-off run needs an Idempotency-Key header', {
      hint: 'choose a new one for each run, and send the same again when in doubt',
    });
  const reading = parseRunObject(request.body);
  if (!reading.ok) throw badJob(reading.problems, RUN_HINT);
  const { job } = reading;
  checkSubmits(request.peer, job.namespace);
  const { answer, revision } = await tracedSubmit(
    state,
    request,
    (traceparent) => state.runs.create(job, key, traceparent),
    (written) => ({ job: jobKeyOf(job.namespace, written.answer.job), version: 1 }),
  );
  return { status: answer.created ? 201 : 200, headers: revisionHeader(revision), body: answer };
}

const RUN_HINT = 'leave type out, or write batch; what runs on is a job: POST /v1/jobs, or moorage run FILE';

/** @throws ProblemError with every problem that was found */
function readJob(body: unknown): Job {
  const reading = parseJobObject(body);
  if (reading.ok) return reading.job;
  throw badJob(reading.problems);
}

/** @param typeHint the remedy when the type is wrong */
function badJob(problems: readonly JobProblem[], typeHint?: string): ProblemError {
  const [first] = problems;
  return refuse(
    400,
    'bad-job',
    first === undefined ? 'the job cannot be read' : `${first.path}: ${first.text}`,
    {
      ...(first === undefined ? {} : { path: first.path }),
      ...(first?.path === 'type' && typeHint !== undefined ? { hint: typeHint } : {}),
      extra: { problems },
    },
  );
}

function versionIn(request: RouteRequest): number | null {
  const text = request.headers['if-match'];
  if (text === undefined || text === '*') return null;
  const match = /^"?(\d{1,9})"?$/.exec(text);
  if (match === null)
    throw refuse(400, 'bad-request', 'If-Match must be a version number', { path: 'if-match' });
  return Number(match[1]);
}

/** Large jobs that have to be summed up for it leave other requests their turn. */
async function list(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const namespace = namespaceIn(request);
  const seen = [...state.copy.jobs.names()].filter((jobKey) => {
    const own = namespaceOf(jobKey);
    return namespace === null ? sees(request.peer, own) : own === namespace && sees(request.peer, own);
  });
  const { keys, next } = pageOf(pageIn(request), seen);
  const jobs: JobSummary[] = [];
  const slice = new TimeSlice(state.clock, request.signal, LISTED_IN_A_TURN_MAX);
  for (const jobKey of keys) {
    const summary = state.statuses.summary(jobKey);
    if (summary !== null) jobs.push(summary);
    if (slice.step()) await slice.yield();
  }
  return { status: 200, body: { jobs, incomplete: !state.follower.view.complete, ...nextIn(next) } };
}

function namespaceOf(jobKey: string): string {
  return jobKey.slice(0, jobKey.indexOf('/'));
}

async function status(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const jobKey = await findJob(state, request);
  const found = state.statuses.status(jobKey);
  if (found === null) throw noSuchJob(jobKey);
  const headers = { etag: `"${String(found.record.version)}"` };
  const storeAwaySinceMs = state.storeAwaySinceMs();
  const body = {
    ...{ ...found, silentHosts: state.silentHosts.of(jobKey), incomplete: !state.follower.view.complete },
    ...(storeAwaySinceMs === null ? {} : { storeAwaySinceMs }),
  };
  return { status: 200, headers, body };
}

async function why(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const jobKey = await findJob(state, request);
  const record = state.copy.jobs.get(jobKey)?.value;
  const standing = standingOf(state, jobKey);
  if (record === undefined || standing === null) throw noSuchJob(jobKey);
  const answer = await state.schedulers.why(jobKey, record, standing);
  const awaySinceMs = state.storeAwaySinceMs();
  const said = [
    ...(awaySinceMs === null ? [] : [storeAwayText(standing.nowMs, awaySinceMs)]),
    ...[answer.summary, ...waitingMoves(state.copy, jobKey, standing.nowMs)],
    ...[...plannedDrains(state.copy, jobKey), ...faultsOf(state, jobKey)],
  ].join('; ');
  return { status: 200, body: { ...answer, summary: said } };
}

function stop(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  return changed(state, request, (namespace, job) => state.writes.stop(namespace, job));
}

function remove(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  return changed(state, request, (namespace, job) => state.writes.delete(namespace, job));
}

async function changed(
  state: MonitorState,
  request: RouteRequest,
  change: (namespace: string, job: string) => Promise<number>,
): Promise<RouteReply> {
  const jobKey = jobKeyIn(request);
  const [namespace = '', job = ''] = jobKey.split('/');
  const revision = await change(namespace, job);
  await caughtUp(state, request, revision);
  const summary = state.statuses.summary(jobKey);
  if (summary === null) throw noSuchJob(jobKey);
  return { status: 200, headers: revisionHeader(Math.max(revision, state.copy.changedAt)), body: summary };
}

async function exit(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const waitMs = countIn(request, 'waitMs', 0, WAIT_MS_MAX);
  const jobKey = await findJob(state, request);
  const askedMs = state.clock.nowMs();
  const deadline = withDeadline(state.clock, waitMs, request.signal);
  try {
    for (;;) {
      const change = state.jobChanges.next(jobKey, deadline.signal);
      const found = state.statuses.exit(jobKey);
      if (found !== null) {
        traceExit(state, request, { jobKey, state: found.state, askedMs });
        return { status: 200, body: found };
      }
      if (state.copy.jobs.get(jobKey) === undefined) throw noSuchJob(jobKey);
      if (waitMs === 0 || deadline.signal.aborted) return { status: 204 };
      await change;
    }
  } finally {
    deadline.done();
  }
}

function traceExit(
  { copy, tracer, log }: MonitorState,
  { headers }: RouteRequest,
  exit: { readonly jobKey: string; readonly state: string; readonly askedMs: number },
): void {
  const traceparent = copy.jobs.get(exit.jobKey)?.value.traceparent;
  const facts = { job: exit.jobKey, state: exit.state, request: headers[REQUEST_ID_HEADER] };
  tracer?.begin('exit', traceparent, exit.askedMs)?.end(facts);
  if (log.isDebug !== true) return;
  const [namespace = '', job = ''] = exit.jobKey.split('/');
  log.debug({ ...facts, ...logIds({ namespace, job }, traceparent) }, 'its exit is told');
}

function allocations(state: MonitorState, request: RouteRequest): RouteReply {
  const { after, limit } = pageIn(request);
  const host = request.query['host'] === undefined ? null : idIn(request.query['host'], 'host');
  const jobKeys = jobKeysIn(state, request).filter((jobKey) => after === null || !isBefore(jobKey, after));
  const found: AllocationStatus[] = [];
  let next: string | undefined;
  for (const jobKey of onHost(state, host, jobKeys).sort(byText)) {
    for (const status of state.statuses.allocations(jobKey).sort(byKey)) {
      const key = keyOf(status);
      if ((host !== null && status.allocation.host !== host) || (after !== null && key <= after)) continue;
      if (found.length === limit) next = cursorOf(keyOf(found.at(-1) ?? status));
      else found.push(status);
      if (next !== undefined) break;
    }
    if (next !== undefined) break;
  }
  return {
    status: 200,
    body: { allocations: found, incomplete: !state.follower.view.complete, ...nextIn(next) },
  };
}

/** Less than any letter of a name, so that keys are ordered as their parts are. */
const BETWEEN = '\u0000';
const DIGITS = 9;

/** By job, group, index and attempt. */
function keyOf({ allocation }: AllocationStatus): string {
  const { namespace, job, group, index, attempt, id } = allocation;
  const numbers = [index, attempt].map((number) => String(number).padStart(DIGITS, '0'));
  return [`${namespace}/${job}`, group, ...numbers, id].join(BETWEEN);
}

function byKey(a: AllocationStatus, b: AllocationStatus): number {
  return byText(keyOf(a), keyOf(b));
}

/** Is all of the job before the key? */
function isBefore(jobKey: string, key: string): boolean {
  return `${jobKey}${BETWEEN}` < key && !key.startsWith(`${jobKey}${BETWEEN}`);
}

/** Of the jobs, those that have something on the host. */
function onHost({ copy }: MonitorState, host: string | null, jobKeys: readonly string[]): string[] {
  if (host === null) return [...jobKeys];
  const rows = [...copy.allocationsByHost.of(host).values()];
  const there = new Set(rows.map(({ value }) => `${value.namespace}/${value.job}`));
  return jobKeys.filter((jobKey) => there.has(jobKey));
}

async function usage(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  return { status: 200, body: await cellUsage(state.copy, state.hosts, jobKeysIn(state, request)) };
}

/** The jobs with allocations that `?namespace&job` means; all that the caller sees without either. */
function jobKeysIn(state: MonitorState, request: RouteRequest): readonly string[] {
  const namespace = namespaceIn(request);
  const job = request.query['job'];
  if (namespace !== null && !sees(request.peer, namespace)) return [];
  if (namespace !== null && job !== undefined) return [`${namespace}/${job}`];
  return [...state.copy.allocationsByJob.keys()].filter(
    (jobKey) =>
      (namespace === null ? sees(request.peer, namespaceOf(jobKey)) : jobKey.startsWith(`${namespace}/`)) &&
      (job === undefined || jobKey.endsWith(`/${job}`)),
  );
}
