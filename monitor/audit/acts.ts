import type { RouteRequest } from '../../src/ports/http.ts';
import type { ReportFollower } from '../../src/runtime/reports/reports.ts';

/** What a request does, as a record says it. */
export interface Act {
  readonly act: string;
  readonly target: string;
  readonly namespace?: string;
  readonly detail?: string;
}

type ActOf = (request: RouteRequest, state: ActState) => Act;

/** Of a monitor: where an allocation belongs. */
export interface ActState {
  readonly follower: ReportFollower;
}

/** By the method and path of the route. Requests are not checked yet: what is taken of a body may be anything. */
const ACTS: Readonly<Record<string, ActOf>> = {
  'POST /v1/jobs': (request) => ofBody('submit', request.body),
  'POST /v1/jobs/bulk': ({ body }) => ofList(body),
  'POST /v1/runs': ({ body }) => ({ ...ofBody('run', body), detail: commandOf(body) }),
  'POST /v1/jobs/:namespace/:job/stop': (request) => ofJob('stop', request),
  'DELETE /v1/jobs/:namespace/:job': (request) => ofJob('delete', request),
  'POST /v1/jobs/:namespace/:job/rollout': (request) => ({
    ...ofJob(textOf(request.body, 'act') || 'rollout', request),
    detail: 'rollout',
  }),
  'POST /v1/jobs/:namespace/:job/undo': (request) => ({
    ...ofJob('undo', request),
    detail: json(request.body ?? {}),
  }),
  'POST /v1/jobs/:namespace/:job/scale': (request) => ({
    ...ofJob('scale', request),
    detail: json(request.body),
  }),
  'POST /v1/jobs/:namespace/:job/restart': (request) => ofJob('restart', request),
  'POST /v1/jobs/:namespace/:job/moves': (request) => ({
    ...ofJob('move', request),
    detail: json(request.body),
  }),
  'PUT /v1/pauses/:what': ({ params, body }) => ({
    ...{ act: 'pause', target: clipped(params['what']), detail: json(body) },
  }),
  'DELETE /v1/pauses/:what': ({ params, query }) => ({
    ...{ act: 'resume', target: clipped(params['what']), detail: json(query) },
  }),
  'DELETE /v1/verdicts': ({ query }) => ({ act: 'clear-verdict', target: clipped(query['suspect']) }),
  'PUT /v1/remedies': ({ body }) => ({ act: 'set-remedies', target: 'remedies', detail: json(body) }),
  'PUT /v1/budgets': ({ body }) => ({ act: 'set-budgets', target: 'budgets', detail: json(body) }),
  'POST /v1/hosts/:host/eligibility': ({ params, body }) => ({
    ...{ act: textOf(body, 'state') || 'eligibility', target: clipped(params['host']) },
    detail: plannedOf(body) ?? textOf(body, 'reason'),
  }),
  'POST /v1/hosts/:host/fences': ({ params, body }) => ({
    ...{ act: 'fence-host', target: clipped(params['host']), detail: json(body) },
  }),
  'POST /v1/hosts/:host/labels': ({ params, body }) => ({
    ...{ act: 'label-host', target: clipped(params['host']), detail: json(body) },
  }),
  'DELETE /v1/hosts/:host': ({ params, query }) => ({
    ...{ act: 'remove-host', target: clipped(params['host']), detail: clipped(query['reason']) },
  }),
  'PUT /v1/shared/:name': ({ params, body }) => ({
    ...{ act: 'set-shared', target: clipped(params['name']), detail: json(body) },
  }),
  'DELETE /v1/shared/:name': ({ params }) => ({ act: 'remove-shared', target: clipped(params['name']) }),
  'PUT /v1/quotas/:namespace': ({ params, body }) => ({
    ...ofQuota('set-quota', params),
    detail: json(body),
  }),
  'DELETE /v1/quotas/:namespace': ({ params }) => ofQuota('remove-quota', params),
  'POST /v1/tokens': ({ body }) => ({
    ...{ act: 'create-token', target: textOf(body, 'name') },
    detail: json(body),
  }),
  'POST /v1/invitations': ({ body }) => ({ act: 'invite', target: textOf(body, 'host'), detail: json(body) }),
  'DELETE /v1/invitations/:id': ({ params }) => ({ act: 'uninvite', target: clipped(params['id']) }),
  'POST /v1/join': ({ peer }) => ({ act: 'join', target: peer?.role === 'invited' ? peer.host : '' }),
  'DELETE /v1/tokens/:id': ({ params }) => ({ act: 'revoke-token', target: clipped(params['id']) }),
  'PUT /v1/openid/:name': ({ params, body }) => ({
    ...{ act: 'set-openid', target: clipped(params['name']), detail: json(body) },
  }),
  'DELETE /v1/openid/:name': ({ params }) => ({ act: 'delete-openid', target: clipped(params['name']) }),
  'DELETE /v1/volumes/:namespace/:claim': ({ params, query }) => ({
    ...{ act: 'delete-volume', target: clipped(params['claim']), namespace: clipped(params['namespace']) },
    ...(query['lost'] === 'true' ? { detail: 'lost' } : {}),
  }),
  'PUT /v1/secrets/:namespace/:name': ({ params }) => ofSecret('set-secret', params),
  'DELETE /v1/secrets/:namespace/:name': ({ params }) => ofSecret('delete-secret', params),
  'POST /v1/allocations/:id/exec': (request, state) => ({
    ...ofAllocation('exec', request, state),
    detail: commandOf(request.body),
  }),
  'POST /v1/allocations/:id/signal': (request, state) => ({
    ...ofAllocation('signal', request, state),
    detail: textOf(request.body, 'signal'),
  }),
  'CHANNEL /v1/allocations/:id/attach': (request, state) => ({
    ...ofAllocation('attach', request, state),
    detail: clipped(request.query['command'] ?? request.query['task']),
  }),
};

/** @returns what tells of a request to the route. @throws Error when nothing does: its server must not start */
export function actOf(method: string, path: string): ActOf {
  const found = ACTS[`${method} ${path}`];
  if (found === undefined) throw new Error(`nothing says how the audit names ${method} ${path}`);
  return found;
}

const CHARS_MAX = 256;

function clipped(text: string | undefined): string {
  return (text ?? '').slice(0, CHARS_MAX);
}

function fieldOf(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[name] : undefined;
}

function textOf(body: unknown, name: string): string {
  const value = fieldOf(body, name);
  return typeof value === 'string' ? clipped(value) : '';
}

/** Of a drain with a time: all of it. */
function plannedOf(body: unknown): string | null {
  const isPlanned = fieldOf(body, 'atMs') !== undefined || fieldOf(body, 'forMs') !== undefined;
  return isPlanned ? json(body) : null;
}

function json(body: unknown): string {
  return clipped(JSON.stringify(body));
}

function ofBody(act: string, body: unknown): Act {
  const namespace = textOf(body, 'namespace') || 'default';
  return { act, target: textOf(body, 'name'), namespace };
}

/** The first of a list's names; all of them would be larger than the jobs. */
function ofList(body: unknown): Act {
  const jobs: readonly unknown[] = Array.isArray(body) ? body : [];
  const { namespace, target } = ofBody('submit', jobs[0]);
  return { act: 'submit', target, namespace: namespace ?? '', detail: `${String(jobs.length)} jobs` };
}

function ofJob(act: string, { params }: RouteRequest): Act {
  return { act, target: clipped(params['job']), namespace: clipped(params['namespace']) };
}

function ofQuota(act: string, params: RouteRequest['params']): Act {
  const namespace = clipped(params['namespace']);
  return { act, target: namespace, namespace };
}

function ofSecret(act: string, params: RouteRequest['params']): Act {
  return { act, target: clipped(params['name']), namespace: clipped(params['namespace']) };
}

function ofAllocation(act: string, { params }: RouteRequest, { follower }: ActState): Act {
  const target = clipped(params['id']);
  const namespace = follower.view.allocation(target)?.namespace;
  return { act, target, ...(namespace === undefined ? {} : { namespace }) };
}

/** Its first word: the others may be secrets. */
function commandOf(body: unknown): string {
  const command = fieldOf(body, 'command');
  const first: unknown = Array.isArray(command) ? command[0] : undefined;
  return typeof first === 'string' ? clipped(first) : '';
}
