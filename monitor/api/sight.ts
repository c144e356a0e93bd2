import type { Caller } from '../../src/core/access/access.ts';
import { sees } from '../../src/core/access/access.ts';
import type { RouteRequest } from '../../src/ports/http.ts';
import type { CellEvent } from '../../src/wire/api/monitor-api.ts';
import { noSuchJob, refuse } from '../refusals.ts';
import { jobKeyIn } from './requests.ts';

/** The beginning of every path about one job. */
const OF_A_JOB = '/v1/jobs/:namespace/:job';

/**
 * A job in a namespace that the caller does not see is as absent as one that is not there.
 * @throws ProblemError 404, whether there is such a job or not
 */
export function checkSight(path: string, request: RouteRequest): void {
  if (!path.startsWith(OF_A_JOB) || request.peer?.role !== 'person') return;
  const jobKey = jobKeyIn(request);
  if (!sees(request.peer, request.params['namespace'] ?? '')) throw noSuchJob(jobKey);
}

/** @throws ProblemError 403: that says nothing of what is in the namespace */
export function checkSubmits(peer: Caller | null, namespace: string): void {
  if (sees(peer, namespace)) return;
  throw refuse(403, 'other-namespace', `this token is not of namespace ${namespace}`, {
    path: 'namespace',
    hint: 'moorage context   (shows the namespaces of your token)',
  });
}

/** Events of no namespace are of the cell: hosts, roles, what hosts share. */
export function seesEvent(peer: Caller | null, { namespace }: CellEvent): boolean {
  return namespace === undefined || sees(peer, namespace);
}
