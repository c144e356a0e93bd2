import { nameOfCaller, sees } from '../../src/core/access/access.ts';
import { isId } from '../../src/core/cell/ids.ts';
import type { Channel, ChannelClient, ChannelRoute, Route, RouteRequest } from '../../src/ports/http.ts';
import { HttpError } from '../../src/ports/http.ts';
import type { Behalf } from '../../src/clients/delegator.ts';
import { problemErrorOf } from '../../src/clients/clients.ts';
import type { ExecRequest, SignalRequest } from '../../src/wire/api/exec-api.ts';
import { execRequest, isCommandId, signalRequest } from '../../src/wire/api/exec-api.ts';
import { auditedChannel } from '../audit/audited.ts';
import type { MonitorState } from './monitor-state.ts';
import { refuse } from '../refusals.ts';

const OPEN_TIMEOUT_MS = 5_000;

/** The paths of a host's API for what runs inside its allocations, wherever that host is; see `wire/exec-api.ts`. */
export function attachRoutes(state: MonitorState): Route[] {
  const { hosts } = state;
  return [
    {
      method: 'POST',
      path: '/v1/allocations/:id/exec',
      right: 'enter',
      handle: async (request) => {
        const order = checked<ExecRequest>(execRequest, request.body);
        const { address, ...behalf } = hostOf(state, request);
        return answered(() => hosts.exec(address, idOf(request), order, behalf));
      },
    },
    {
      method: 'GET',
      path: '/v1/allocations/:id/exec/:command',
      right: 'enter',
      handle: (request) => {
        const { address, ...behalf } = hostOf(state, request);
        const { command = '' } = request.params;
        if (!isCommandId(command)) throw refuse(404, 'no-command', 'there is no command of this id');
        return answered(() => hosts.command(address, idOf(request), command, behalf));
      },
    },
    {
      method: 'POST',
      path: '/v1/allocations/:id/signal',
      right: 'enter',
      handle: async (request) => {
        const order = checked<SignalRequest>(signalRequest, request.body);
        const { address, ...behalf } = hostOf(state, request);
        return answered(() => hosts.signal(address, idOf(request), order, behalf));
      },
    },
  ];
}

/** The channel of `attachChannels`, for the document of all routes. */
export const ATTACH = ['CHANNEL', '/v1/allocations/:id/attach', 'enter'] as const;

/** Connects a client to the host of its target. When one side ends, so does the other. */
export function attachChannels(state: MonitorState, channels: ChannelClient): ChannelRoute[] {
  const routes: ChannelRoute[] = [
    {
      path: '/v1/allocations/:id/attach',
      right: 'enter',
      open: async (request) => {
        const { address, ...behalf } = hostOf(state, request);
        const call = state.hosts.attaching(address, idOf(request), request.query, behalf);
        const answer = await reached(() =>
          channels.open({ ...call, timeoutMs: OPEN_TIMEOUT_MS, signal: request.signal }),
        );
        if (answer.kind === 'refused') throw problemErrorOf(answer.answer);
        return async (client) => {
          await Promise.all([pass(client, answer.channel), pass(answer.channel, client)]);
        };
      },
    },
  ];
  return routes.map((route) => auditedChannel(state, route));
}

/** One message at a time: a side that does not read holds the other one up, and nothing is buffered here. */
async function pass(from: Channel, to: Channel): Promise<void> {
  try {
    for await (const message of from.messages) await to.send(message);
  } catch (error) {
    // Cut: both sides reconnect by themselves.
    if (!(error instanceof HttpError)) throw error;
  } finally {
    to.close();
  }
}

async function answered(ask: () => Promise<unknown>): Promise<{ status: number; body: unknown }> {
  return { status: 200, body: await reached(ask) };
}

async function reached<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    throw refuse(503, 'host-unreachable', 'the host of this allocation does not answer');
  }
}

function idOf(request: RouteRequest): string {
  const id = request.params['id'] ?? '';
  if (!isId(id)) throw refuse(400, 'bad-request', 'that is no allocation id');
  return id;
}

/** @returns the host that reported the allocation, and for whom it is asked */
function hostOf(
  { copy, follower }: MonitorState,
  request: RouteRequest,
): Behalf & { readonly address: string } {
  const report = follower.view.allocation(idOf(request));
  const host =
    report === undefined || !sees(request.peer, report.namespace)
      ? undefined
      : copy.hosts.get(report.host)?.value;
  if (host !== undefined) return { address: host.address, host: host.id, by: nameOfCaller(request.peer) };
  throw refuse(404, 'no-such-allocation', `no host has reported allocation ${idOf(request)}`, {
    hint: 'moorage ps',
  });
}

interface Checkable<T> {
  safeParse(value: unknown): { success: true; data: T } | { success: false; error: { message: string } };
}

function checked<T>(schema: Checkable<T>, body: unknown): T {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  throw refuse(400, 'bad-request', 'the body is not as documented');
}
