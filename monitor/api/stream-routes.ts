import { nameOfCaller } from '../../src/core/access/access.ts';
import type { Route, RouteReply, RouteRequest } from '../../src/ports/http.ts';
import { jobKeyOf } from '../../src/core/cell/ids.ts';
import { ndjsonLine } from '../../src/core/json/ndjson.ts';
import { LOG_OFFSET_HEADER, LOG_STREAMS } from '../../src/wire/api/host-api.ts';
import type { CellEvent } from '../../src/wire/api/monitor-api.ts';
import { JOBS_ASKED_MAX } from '../../src/wire/api/report-frames.ts';
import {
  LOG_ALLOCATION_HEADER,
  LOG_TASK_HEADER,
  PAGE_ROWS_MAX,
  REVISION_HEADER,
} from '../../src/wire/api/monitor-api.ts';
import type { LogQuery } from '../runs/log-target.ts';
import type { ReportRelay } from '../view/report-relay.ts';
import type { MonitorState } from './monitor-state.ts';
import { refuse } from '../refusals.ts';
import { countIn, findJob, flagIn, idIn } from './requests.ts';
import { seesEvent } from './sight.ts';

const INDEX_MAX = 1_000_000;

export function streamRoutes(state: MonitorState): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/jobs/:namespace/:job/logs',
      right: 'read',
      handle: (request) => logs(state, request),
    },
    { method: 'GET', path: '/v1/events', right: 'read', handle: async (request) => events(state, request) },
    {
      method: 'GET',
      path: '/v1/reports',
      right: 'reports',
      handle: async (request) => reports(state, request),
    },
  ];
}

function reports({ relay }: MonitorState, { query, signal }: RouteRequest): RouteReply {
  return { status: 200, contentType: 'application/x-ndjson', stream: reportsAsked(relay, query, signal) };
}

function reportsAsked(
  relay: ReportRelay,
  { jobs, hosts }: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): AsyncIterable<string> {
  if (jobs !== undefined) return relay.answer(jobKeysIn(jobs));
  if (hosts === undefined) return relay.read(signal);
  if (hosts !== 'own') throw refuse(400, 'bad-request', 'hosts may be own', { path: 'hosts' });
  return relay.readDirect(signal);
}

/** `<namespace>/<job>`, with commas between. */
function jobKeysIn(text: string): readonly string[] {
  const keys = text.split(',');
  if (keys.length > JOBS_ASKED_MAX)
    throw refuse(400, 'bad-request', `jobs may name ${String(JOBS_ASKED_MAX)} at most`, { path: 'jobs' });
  return keys.map((key) => {
    const [namespace, job, ...more] = key.split('/');
    if (more.length > 0) throw refuse(400, 'bad-request', `${key} is no <namespace>/<job>`, { path: 'jobs' });
    return jobKeyOf(idIn(namespace, 'jobs'), idIn(job, 'jobs'));
  });
}

async function logs(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const query = logQuery(request, await findJob(state, request));
  const log = await state.logs.open(query, request.signal);
  if (log === null) return { status: 204 };
  return {
    status: 200,
    headers: {
      [LOG_OFFSET_HEADER]: String(log.offset),
      ...(log.target === null
        ? {}
        : { [LOG_ALLOCATION_HEADER]: log.target.allocation, [LOG_TASK_HEADER]: log.target.task }),
    },
    contentType: 'application/octet-stream',
    stream: log.chunks,
  };
}

function logQuery(request: RouteRequest, jobKey: string): LogQuery {
  const named = (name: string): string | null => {
    const value = request.query[name];
    return value === undefined ? null : idIn(value, name);
  };
  const stream = LOG_STREAMS.find((known) => known === (request.query['stream'] ?? 'stdout'));
  if (stream === undefined)
    throw refuse(400, 'bad-request', `stream must be one of ${LOG_STREAMS.join(', ')}`, { path: 'stream' });
  return {
    by: nameOfCaller(request.peer),
    jobKey,
    group: named('group'),
    index: countIn(request, 'index', 0, INDEX_MAX),
    allocation: named('allocation'),
    task: named('task'),
    stream,
    offset: countIn(request, 'offset', 0, Number.MAX_SAFE_INTEGER),
    offsetOf: named('offsetOf'),
    follow: flagIn(request, 'follow', false),
  };
}

function events(state: MonitorState, request: RouteRequest): RouteReply {
  const since = request.headers['last-event-id'] ?? request.query['since'];
  const follow = flagIn(request, 'follow', true);
  const limit = countIn(request, 'limit', Infinity, PAGE_ROWS_MAX);
  const mayRead = (event: CellEvent): boolean => seesEvent(request.peer, event);
  const items = atMost(limit, state.events.read(since, follow, request.signal, mayRead));
  const asSse = (request.headers['accept'] ?? '').includes('text/event-stream');
  return {
    status: 200,
    // As it is at this moment: what comes after it is in the stream.
    headers: { [REVISION_HEADER]: String(state.copy.revision) },
    contentType: asSse ? 'text/event-stream' : 'application/x-ndjson',
    stream: texts(items, asSse ? sseText : ndjsonText),
  };
}

/** Beats do not count. */
async function* atMost(
  limit: number,
  items: AsyncIterable<CellEvent | null>,
): AsyncGenerator<CellEvent | null> {
  let left = limit;
  if (left === 0) return;
  for await (const item of items) {
    yield item;
    if (item !== null) left -= 1;
    if (left === 0) return;
  }
}

async function* texts(
  items: AsyncIterable<CellEvent | null>,
  textOf: (event: CellEvent | null) => string,
): AsyncGenerator<string> {
  for await (const item of items) yield textOf(item);
}

function sseText(event: CellEvent | null): string {
  if (event === null) return ': beat\n\n';
  return `id: ${event.id}\nevent: ${event.kind}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** An empty line is a heartbeat: readers of NDJSON skip it. */
function ndjsonText(event: CellEvent | null): string {
  return event === null ? '\n' : ndjsonLine(event);
}
