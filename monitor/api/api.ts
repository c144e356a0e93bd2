/**
 * The API that people and roles use. `problems.ts` wraps every route with the answers to a store that is away; a route reads its
 * parameters with `requests.ts` and works on `monitor-state.ts`:
 *
 * - `job-routes.ts`: submit, run, stop, status, why, exit; `stream-routes.ts`: logs, events, reports
 * - `rollout-routes.ts`: versions of a job, and its updates
 * - `host-routes.ts`: the cell, hosts, their eligibility, schedulers
 * - `limit-routes.ts`: what hosts share, and what namespaces may use; `pause-routes.ts`: what is paused, and who is at fault
 * - `name-routes.ts`: who serves which name
 * - `token-routes.ts`: tokens of people, whose others count, and who calls; `secret-routes.ts`: secrets of their jobs; `join-routes.ts`: machines that
 *   become hosts; `audit-routes.ts`: who did what
 * - `attach-routes.ts`: exec, signal and attach, passed on to the host
 * - `health-routes.ts`: liveness, readiness, metrics and where they are, version; `schema-routes.ts`: the schemas of a job file and of this API
 *
 * What lies in namespaces that the caller does not see is left out, or absent: `sight.ts`.
 *
 * Every answer carries the revision of the last change that this monitor's copy holds; `min-revision.ts` lets a read that must
 * not be older than another monitor's answer wait for the copy.
 */
import type { Route } from '../../src/ports/http.ts';
import { audited } from '../audit/audited.ts';
import type { StoreKeeper } from '../store/store.ts';
import { ATTACH, attachRoutes } from './attach-routes.ts';
import { auditRoutes } from './audit-routes.ts';
import { healthRoutes } from './health-routes.ts';
import { hostRoutes } from './host-routes.ts';
import { jobRoutes } from './job-routes.ts';
import type { MonitorState } from './monitor-state.ts';
import { guarded } from './problems.ts';
import { nameRoutes } from './name-routes.ts';
import { pageRoutes } from '../page/page.ts';
import { pauseRoutes, verdictRoutes } from './pause-routes.ts';
import { limitRoutes } from './limit-routes.ts';
import { rolloutRoutes } from './rollout-routes.ts';
import { revisionHeader } from './requests.ts';
import { joinRoutes } from './join-routes.ts';
import { knowsEnough } from './min-revision.ts';
import { openApiRoutes, schemaRoutes } from './schema-routes.ts';
import { checkSight } from './sight.ts';
import { secretRoutes } from './secret-routes.ts';
import { streamRoutes } from './stream-routes.ts';
import { tokenRoutes } from './token-routes.ts';

/** @param keeper null: another program maintains the store */
export function monitorRoutes(state: MonitorState, keeper: StoreKeeper | null): Route[] {
  const routes = [
    ...jobRoutes(state),
    ...rolloutRoutes(state),
    ...hostRoutes(state, keeper),
    ...limitRoutes(state),
    ...pauseRoutes(state),
    ...verdictRoutes(state),
    ...nameRoutes(state),
    ...tokenRoutes(state),
    ...joinRoutes(state),
    ...secretRoutes(state),
    ...auditRoutes(state),
    ...streamRoutes(state),
    ...attachRoutes(state),
    ...healthRoutes(state),
    ...schemaRoutes(),
  ];
  const wrapped = routes.map((plain) => {
    const route = audited(state, plain);
    return {
      ...route,
      handle: guarded(async (request) => {
        checkSight(route.path, request);
        if (route.method === 'GET') await knowsEnough(state, request);
        const reply = await route.handle(request);
        return { ...reply, headers: { ...revisionHeader(state.copy.changedAt), ...reply.headers } };
      }),
    };
  });
  const [method, path, right] = ATTACH;
  const served = [...wrapped, ...pageRoutes(state)];
  return [...served, ...openApiRoutes(state, [...served, { method, path, right }])];
}
