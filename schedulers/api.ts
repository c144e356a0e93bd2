import type { Right } from '../src/core/access/access.ts';
import type { Metrics } from '../src/ports/telemetry.ts';
import type { Route, RouteReply } from '../src/ports/http.ts';
import type { SchedulerPlan, SchedulerPlanRequest } from '../src/wire/plan/plan.ts';
import { readSchedulerPlanRequest } from '../src/wire/plan/plan-requests.ts';
import { ProblemError } from '../src/wire/api/problem.ts';
import type { SchedulerEvent, SchedulerStatus, Why } from '../src/wire/api/scheduler-api.ts';

/** What the API shows; the scheduler gives it. */
export interface SchedulerView {
  status(): SchedulerStatus;
  /** undefined: another scheduler owns the job. */
  why(namespace: string, job: string): Why | undefined;
  /** null: it is not ready, or too many plans wait. @throws StoreError, RecordError */
  plan(request: SchedulerPlanRequest): Promise<SchedulerPlan | null>;
  events(signal: AbortSignal, unseen: boolean): AsyncIterable<SchedulerEvent>;
  isReady(): boolean;
  /** Brings the metrics up to date. */
  measure(): void;
}

/** The routes of `wire/scheduler-api.ts`. None of them changes anything. */
export function schedulerRoutes(view: SchedulerView, metrics: Metrics): readonly Route[] {
  return [
    get('/v1/status', 'read', () => ({ status: 200, body: view.status() })),
    get('/v1/jobs/:namespace/:job/why', 'read', ({ params }) =>
      whyReply(view.why(params['namespace'] ?? '', params['job'] ?? '')),
    ),
    {
      ...{ method: 'POST', path: '/v1/plan', right: 'read', reads: true, bodyBytesMax: PLAN_BYTES_MAX },
      handle: async ({ body }) => planReply(await view.plan(readSchedulerPlanRequest(body))),
    },
    get('/v1/events', 'read', ({ signal, query }) => ({
      status: 200,
      contentType: 'application/x-ndjson',
      stream: lines(view.events(signal, query['unseen'] === 'true')),
    })),
    get('/livez', 'health', () => ({ status: 200, body: { live: true } })),
    get('/readyz', 'health', () => readyReply(view.isReady())),
    get('/metrics', 'metrics', async ({ headers }) => {
      view.measure();
      return { status: 200, ...(await metrics.render(headers['accept'])) };
    }),
  ];
}

/** The placements of other schedulers in a cell of 10,000 hosts. */
const PLAN_BYTES_MAX = 32 * 1024 * 1024;

function get(
  path: string,
  right: Right,
  reply: (request: Parameters<Route['handle']>[0]) => RouteReply | Promise<RouteReply>,
): Route {
  return { method: 'GET', path, right, handle: async (request) => reply(request) };
}

function whyReply(why: Why | undefined): RouteReply {
  if (why !== undefined) return { status: 200, body: why };
  const body = { status: 404, code: 'not-owned', detail: 'this scheduler does not work on the job' };
  return { status: 404, body };
}

function planReply(plan: SchedulerPlan | null): RouteReply {
  if (plan !== null) return { status: 200, body: plan };
  const detail = 'the scheduler is not ready, or other plans wait';
  throw new ProblemError({ status: 503, code: 'busy', detail });
}

function readyReply(ready: boolean): RouteReply {
  if (ready) return { status: 200, body: { ready } };
  return { status: 503, body: { status: 503, code: 'starting', detail: 'the store has not been read yet' } };
}

async function* lines(events: AsyncIterable<SchedulerEvent>): AsyncGenerator<string> {
  for await (const event of events) yield `${JSON.stringify(event)}\n`;
}
