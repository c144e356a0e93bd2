import type { RouteRequest } from '../../src/ports/http.ts';
import { withDeadline } from '../../src/runtime/wait/wait.ts';
import { MIN_REVISION_HEADER } from '../../src/wire/api/monitor-api.ts';
import { refuse } from '../refusals.ts';
import type { MonitorState } from './monitor-state.ts';

/** A copy is some milliseconds behind; one that is behind for longer has lost its watch, and another monitor is asked sooner. */
const BEHIND_MAX_MS = 2_000;

/**
 * Resolves when this monitor's copy holds all that the caller has seen elsewhere.
 *
 * A store that was restored from a backup never comes to a revision that it had before: then the caller gets what there is.
 * @throws ProblemError 503 when the copy is behind and stays so; 400 for what is no revision
 */
export async function knowsEnough(state: MonitorState, request: RouteRequest): Promise<void> {
  const wanted = wantedIn(request);
  if (wanted <= state.copy.revision) return;
  const deadline = withDeadline(state.clock, BEHIND_MAX_MS, request.signal);
  await state.copy.reached(wanted, deadline.signal);
  deadline.done();
  if (wanted <= state.copy.revision || !(await storeHas(state, wanted))) return;
  throw refuse(
    503,
    'behind',
    `this monitor knows the cell up to revision ${String(state.copy.revision)}, and not yet up to ${String(wanted)}`,
    { hint: 'ask another monitor, or the same one in a moment' },
  );
}

function wantedIn(request: RouteRequest): number {
  const text = request.headers[MIN_REVISION_HEADER] ?? '0';
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw refuse(400, 'bad-request', `${MIN_REVISION_HEADER} must be a revision, as x-revision of an answer`, {
    path: MIN_REVISION_HEADER,
  });
}

/** @throws StoreError when the store cannot be asked: a 503 as well */
async function storeHas({ store, keys }: MonitorState, revision: number): Promise<boolean> {
  return (await store.read([keys.meta])).revision >= revision;
}
