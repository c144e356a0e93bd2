/**
 * How others reach an agent: the routes below; `registration.ts` writes the host into etcd and renews its session;
 * `periodic-tasks.ts` runs what an agent does at intervals.
 */
import { isId } from '../../src/core/cell/ids.ts';
import { readTraceparent } from '../../src/core/trace/trace.ts';
import { isClaimName } from '../../src/core/cell/volume.ts';
import type { Right } from '../../src/core/access/access.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import type { DelegatedAct } from '../../src/core/access/delegation.ts';
import type { ChannelRoute, Route, RouteReply, RouteRequest } from '../../src/ports/http.ts';
import type { Metrics } from '../../src/ports/telemetry.ts';
import type { StartRequest, StopRequest } from '../../src/wire/api/host-api.ts';
import { LOG_OFFSET_HEADER, LOG_STREAMS } from '../../src/wire/api/host-api.ts';
import { execRequest, signalRequest } from '../../src/wire/api/exec-api.ts';
import { startRequest, stopRequest } from '../../src/wire/api/host-requests.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import { readBody } from '../../src/wire/api/api.ts';
import type { HostAgent } from '../agent.ts';
import type { AskStore } from '../orders/orderer.ts';
import { checkEnds, checkStarts } from '../orders/orderer.ts';
import type { DelegationChecks } from '../orders/delegations.ts';
import { checkDelegated } from '../orders/delegations.ts';
import { refusal } from '../orders/admission.ts';
import type { InputMode } from '../io/input-holders.ts';
import { readLog } from '../io/log-reader.ts';
import type { AgentPorts } from '../ports.ts';

/** An agent with what its routes need besides. */
export interface Served {
  readonly agent: HostAgent;
  readonly ports: AgentPorts;
  readonly attemptsKept: number;
}

export interface HostRoutesOptions {
  /** Before every path: empty, or `/hosts/:host` where one process serves many hosts. */
  readonly prefix: string;
  find(request: RouteRequest): Served | undefined;
  /** Registered in the store. */
  ready(): boolean;
  /** Absent: whoever has the right to end allocations may end any. */
  readonly ask?: AskStore;
  /** So long after a start the one who ordered it may end it without a word of the store. Default a minute. */
  readonly ownStartMs?: number;
  /** Absent: whoever has the right to relay may relay anything. */
  readonly delegations?: DelegationChecks;
  readonly metrics: Pick<Metrics, 'render'>;
}

/** Who may send orders in a batch: whoever may order anything at all. Each needs the right of its own route besides. */
export const ORDERS_RIGHT: Right = 'stop';

type Handler = (served: Served, request: RouteRequest) => Promise<RouteReply>;

/** The host-agent's API; see `wire/host-api.ts`. */
export function hostRoutes(options: HostRoutesOptions): readonly Route[] {
  const route = (method: Route['method'], path: string, right: Right, handle: Handler): Route => ({
    method,
    path: `${options.prefix}${path}`,
    right,
    handle: async (request) => handle(servedBy(options, request), request),
  });
  /** Orders, of which several may come in one request. */
  const order = (method: Route['method'], path: string, right: Right, handle: Handler): Route => ({
    ...route(method, path, right, handle),
    batched: true,
  });
  const relayed = (act: DelegatedAct, handle: Handler): Handler => {
    return async (served, request) => {
      checkRelay(served, request, act, options.delegations);
      return handle(served, request);
    };
  };
  return [
    order('PUT', '/v1/allocations/:id', 'start', start),
    order('POST', '/v1/allocations/:id/stop', 'stop', ending(options, stop)),
    order('DELETE', '/v1/allocations/:id', 'stop', ending(options, remove)),
    route('GET', '/v1/allocations', 'reports', async ({ agent }) => ok(agent.listing())),
    route('GET', '/v1/allocations/:id', 'reports', async ({ agent }, request) =>
      ok(agent.report(idOf(request))),
    ),
    route('GET', '/v1/allocations/:id/logs', 'relay', relayed('logs', logs)),
    route('POST', '/v1/allocations/:id/exec', 'relay', relayed('exec', exec)),
    route('GET', '/v1/allocations/:id/exec/:command', 'relay', relayed('command', command)),
    route('POST', '/v1/allocations/:id/signal', 'relay', relayed('signal', signal)),
    route('GET', '/v1/reports', 'reports', reports),
    route('DELETE', '/v1/volumes/:namespace/:claim/:data', 'relay', deleteVolume),
    route('GET', '/v1/usage', 'reports', async ({ agent }) => ok(await agent.usage())),
    ...processRoutes(options),
  ];
}

/** The talks of the host-agent's API; see `wire/attach-frames.ts`. */
export function hostChannels(
  options: Pick<HostRoutesOptions, 'prefix' | 'find' | 'delegations'>,
): readonly ChannelRoute[] {
  return [
    {
      path: `${options.prefix}/v1/allocations/:id/attach`,
      right: 'relay',
      open: async (request) => {
        const served = servedBy(options, request);
        checkRelay(served, request, 'attach', options.delegations);
        const { agent } = served;
        const { task, command } = request.query;
        const asked = {
          ...(task === undefined ? {} : { task }),
          ...(command === undefined ? {} : { command }),
        };
        const ask = {
          stdout: wholeOf(request, 'stdout') ?? 0,
          stderr: wholeOf(request, 'stderr') ?? 0,
          ...inputOf(request),
        };
        const talk = await agent.attach(idOf(request), asked, ask);
        return (channel) => talk(channel, request.signal);
      },
    },
  ];
}

function processRoutes(options: HostRoutesOptions): readonly Route[] {
  return [
    { method: 'GET', path: '/livez', right: 'health', handle: async () => ok({ live: true }) },
    {
      method: 'GET',
      path: '/readyz',
      right: 'health',
      handle: async () => ({ status: options.ready() ? 200 : 503, body: { ready: options.ready() } }),
    },
    {
      method: 'GET',
      path: '/metrics',
      right: 'metrics',
      handle: async ({ headers }) => ({ status: 200, ...(await options.metrics.render(headers['accept'])) }),
    },
  ];
}

function servedBy(options: Pick<HostRoutesOptions, 'find'>, request: RouteRequest): Served {
  const served = options.find(request);
  if (served !== undefined) return served;
  throw new ProblemError({ status: 404, code: 'no-host', detail: 'there is no such host here' });
}

function ok(body: unknown): RouteReply {
  return { status: 200, body };
}

function idOf(request: RouteRequest): string {
  const id = request.params['id'] ?? '';
  if (!isId(id))
    throw new ProblemError({ status: 400, code: 'bad-request', detail: 'that is no allocation id' });
  return id;
}

async function start({ agent, ports }: Served, request: RouteRequest): Promise<RouteReply> {
  const order: StartRequest = readBody(startRequest, request.body);
  if (order.allocation.id !== idOf(request))
    throw refusal('bad-request', 'the address and the body name different allocations');
  checkStarts(request.peer, order.allocation);
  const traceparent = readTraceparent(request.headers['traceparent']);
  return ok({ report: await traced({ agent, ports }, order, traceparent) });
}

/** An order that is taken, or refused, is a span of the job's trace, to which all that follows of it here belongs. */
async function traced(
  { agent, ports: { tracer } }: Pick<Served, 'agent' | 'ports'>,
  order: StartRequest,
  traceparent: string | undefined,
): Promise<AllocationReport> {
  const span = tracer?.begin('accept', traceparent) ?? null;
  const { namespace, job, id, host } = order.allocation;
  const facts = { job: `${namespace}/${job}`, allocation: id, host };
  try {
    const report = await agent.start(order, span?.traceparent ?? traceparent);
    span?.end(facts);
    return report;
  } catch (error) {
    span?.end(facts, error instanceof ProblemError ? error.problem.code : String(error));
    throw error;
  }
}

/** Data of a volume, for good: who asks has seen to it that nothing is placed with it any more. */
async function deleteVolume({ agent }: Served, { params, query }: RouteRequest): Promise<RouteReply> {
  const { namespace = '', claim = '', data = '' } = params;
  if (!isId(namespace) || !isClaimName(claim) || !isId(data))
    throw new ProblemError({ status: 400, code: 'bad-request', detail: 'that is no volume' });
  const holder = agent.holderOf(namespace, claim, data);
  if (holder !== null)
    throw new ProblemError({ status: 409, code: 'volume-in-use', detail: `allocation ${holder} has it` });
  const driver = query['driver'];
  if (driver === undefined) await agent.deleteVolume(namespace, claim, data);
  else {
    const why = await agent.deleteBrought(driver, { namespace, claim, id: data });
    if (why !== null) throw new ProblemError({ status: 409, code: 'not-deleted', detail: why });
  }
  return { status: 204 };
}

function checkRelay(
  { agent, ports }: Served,
  request: RouteRequest,
  act: DelegatedAct,
  checks: DelegationChecks | undefined,
): void {
  const { host, nowMs } = agent;
  const route = { host: host.id, allocation: idOf(request), act, nowMs, log: ports.log };
  checkDelegated(request, route, checks);
}

/** The caller may end this allocation, or its order is refused before it is read. */
function ending({ ask, ownStartMs }: HostRoutesOptions, handle: Handler): Handler {
  return async (served, request) => {
    const { agent } = served;
    await checkEnds(request.peer, agent.run(idOf(request))?.spec, agent.nowMs, { ask, ownStartMs });
    return handle(served, request);
  };
}

async function stop({ agent }: Served, request: RouteRequest): Promise<RouteReply> {
  const order: StopRequest = readBody(stopRequest, request.body);
  return ok(await agent.stop(idOf(request), order));
}

async function remove({ agent }: Served, request: RouteRequest): Promise<RouteReply> {
  await agent.remove(idOf(request));
  return { status: 204 };
}

async function exec({ agent }: Served, request: RouteRequest): Promise<RouteReply> {
  return ok(await agent.exec(idOf(request), readBody(execRequest, request.body)));
}

async function command({ agent }: Served, request: RouteRequest): Promise<RouteReply> {
  return ok(await agent.command(idOf(request), request.params['command'] ?? '', request.query['task']));
}

async function signal({ agent }: Served, request: RouteRequest): Promise<RouteReply> {
  return ok(await agent.signal(idOf(request), readBody(signalRequest, request.body)));
}

async function reports({ agent }: Served, request: RouteRequest): Promise<RouteReply> {
  const [incarnation, seq] = [wholeOf(request, 'incarnation'), wholeOf(request, 'seq')];
  const from = incarnation === null || seq === null ? null : { incarnation, seq };
  return {
    status: 200,
    contentType: 'application/x-ndjson',
    stream: agent.feed.read(from, request.signal, wholeOf(request, 'beatMs') ?? 0),
  };
}

async function logs({ agent, ports, attemptsKept }: Served, request: RouteRequest): Promise<RouteReply> {
  const id = idOf(request);
  agent.report(id);
  const tasks = agent.run(id)?.tasks ?? [];
  const name = request.query['task'];
  const run = name === undefined ? tasks[0] : tasks.find((one) => one.task.name === name);
  const stream = LOG_STREAMS.find((one) => one === (request.query['stream'] ?? 'stdout'));
  if (run === undefined || stream === undefined)
    throw new ProblemError({ status: 404, code: 'no-log', detail: 'there is no such task or stream' });
  const answer = await readLog(
    ports,
    {
      allocation: id,
      run,
      stream,
      offset: wholeOf(request, 'offset') ?? 0,
      follow: request.query['follow'] === 'true' || request.query['follow'] === '1',
      attemptsKept,
      onChange: (listener) => agent.onChange(id, listener),
    },
    request.signal,
  );
  return {
    status: 200,
    headers: { [LOG_OFFSET_HEADER]: String(answer.offset) },
    contentType: 'application/octet-stream',
    stream: answer.chunks,
  };
}

const WISHES: readonly InputMode[] = ['none', 'free', 'take'];
const SESSION = /^[A-Za-z0-9-]{1,64}$/;

/** A client that names no session is a new one each time. */
function inputOf({ query }: RouteRequest): { readonly session: string; readonly input: InputMode } {
  const { session = '', input: word = 'free' } = query;
  const input = WISHES.find((wish) => wish === word);
  if (input === undefined || (session !== '' && !SESSION.test(session)))
    throw new ProblemError({ status: 400, code: 'bad-request', detail: 'input is none, free or take' });
  return { session, input };
}

function wholeOf(request: RouteRequest, name: string): number | null {
  const text = request.query[name];
  if (text === undefined) return null;
  if (/^[0-9]{1,15}$/.test(text)) return Number(text);
  throw new ProblemError({ status: 400, code: 'bad-request', detail: `${name} must be a whole number` });
}
