import { isId } from '../../src/core/cell/ids.ts';
import type { RouteRequest } from '../../src/ports/http.ts';
import { withDeadline } from '../../src/runtime/wait/wait.ts';
import type { ListPage } from '../../src/wire/api/monitor-api.ts';
import { PAGE_ROWS_MAX, REVISION_HEADER } from '../../src/wire/api/monitor-api.ts';
import { noSuchJob, refuse } from '../refusals.ts';
import type { MonitorState } from './monitor-state.ts';

/** Bound on how long an answer waits for this monitor's copy to show what was just written. */
const CATCH_UP_MS = 1_000;

/** `<namespace>/<job>` of a route with both. @throws ProblemError */
export function jobKeyIn(request: RouteRequest): string {
  return `${idIn(request.params['namespace'], 'namespace')}/${idIn(request.params['job'], 'job')}`;
}

export function namespaceIn(request: RouteRequest): string | null {
  const namespace = request.query['namespace'];
  return namespace === undefined ? null : idIn(namespace, 'namespace');
}

export function idIn(value: string | undefined, name: string): string {
  if (value === undefined || !isId(value))
    throw refuse(400, 'bad-request', `${name} must be lower-case letters, digits and dashes, at most 63`, {
      path: name,
    });
  return value;
}

/** A whole number from 0 to `max` in the query. */
export function countIn(request: RouteRequest, name: string, standard: number, max: number): number {
  const text = request.query[name];
  if (text === undefined) return standard;
  if (!/^\d{1,15}$/.test(text) || Number(text) > max)
    throw refuse(400, 'bad-request', `${name} must be a whole number from 0 to ${String(max)}`, {
      path: name,
    });
  return Number(text);
}

/** Which part of a list in a fixed order is asked for. */
export interface PageAsked {
  /** Rows that come after this key, by what they are ordered by; null: from the beginning. */
  readonly after: string | null;
  /** Infinity: all of them. */
  readonly limit: number;
}

/** `?limit&cursor`. @throws ProblemError */
export function pageIn({ query }: RouteRequest): PageAsked {
  const { limit, cursor } = query;
  if (limit !== undefined && (!/^\d{1,6}$/.test(limit) || Number(limit) < 1 || Number(limit) > PAGE_ROWS_MAX))
    throw refuse(400, 'bad-request', `limit must be a whole number from 1 to ${String(PAGE_ROWS_MAX)}`, {
      path: 'limit',
    });
  const after = cursor === undefined ? null : Buffer.from(cursor, 'base64url').toString('utf8');
  if (after !== null && cursorOf(after) !== cursor)
    throw refuse(400, 'bad-request', 'cursor must be the next of an earlier answer', { path: 'cursor' });
  return { after, limit: limit === undefined ? Infinity : Number(limit) };
}

export function cursorOf(key: string): string {
  return Buffer.from(key, 'utf8').toString('base64url');
}

/**
 * The keys of the asked page.
 * @param keys in any order
 * @param compare the list's order
 */
export function pageOf(
  { after, limit }: PageAsked,
  keys: Iterable<string>,
  compare: (a: string, b: string) => number = byText,
): { readonly keys: readonly string[]; readonly next?: string } {
  const rest = [...keys].filter((key) => after === null || compare(key, after) > 0).sort(compare);
  if (rest.length <= limit) return { keys: rest };
  const page = rest.slice(0, limit);
  return { keys: page, next: cursorOf(page.at(-1) ?? '') };
}

/** Nothing at the end of a list. */
export function nextIn(next: string | undefined): ListPage {
  return next === undefined ? {} : { next };
}

export function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function flagIn(request: RouteRequest, name: string, standard: boolean): boolean {
  const text = request.query[name];
  if (text === undefined) return standard;
  if (text !== 'true' && text !== 'false')
    throw refuse(400, 'bad-request', `${name} must be true or false`, { path: name });
  return text === 'true';
}

/**
 * The job's key, with the job in this monitor's copy. A job that was just made, perhaps through another monitor, may be in
 * the store and not yet in the copy; it must not be answered 404.
 * @throws ProblemError 404
 */
export async function findJob(state: MonitorState, request: RouteRequest): Promise<string> {
  const jobKey = jobKeyIn(request);
  if (state.copy.jobs.get(jobKey) !== undefined) return jobKey;
  const key = state.keys.jobs + jobKey;
  const entry = (await state.store.read([key])).entries.get(key);
  if (entry === undefined) throw noSuchJob(jobKey);
  await caughtUp(state, request, entry.modRevision);
  return jobKey;
}

/** Of an answer to a write: this monitor's copy may not hold it yet. */
export function revisionHeader(revision: number): Readonly<Record<string, string>> {
  return { [REVISION_HEADER]: String(revision) };
}

/** Waits, for a bounded time, until the copy holds the revision. */
export async function caughtUp(
  state: MonitorState,
  { signal }: RouteRequest,
  revision: number,
): Promise<void> {
  const deadline = withDeadline(state.clock, CATCH_UP_MS, signal);
  await state.copy.reached(revision, deadline.signal);
  deadline.done();
}
