import { nameOfCaller } from '../../src/core/access/access.ts';
import type { Route, RouteReply, RouteRequest } from '../../src/ports/http.ts';
import { HOST_LABELS_MAX, labelled } from '../../src/core/host/attributes.ts';
import { drainedBy } from '../../src/core/host/drain-window.ts';
import type { DrainWindow, Eligibility, HostConfirmation } from '../../src/core/host/host.ts';
import { isReporting } from '../../src/runtime/reports/cell-view.ts';
import type { CellStatus } from '../../src/wire/api/cell-api.ts';
import type { EligibilityRequest, HostStatus } from '../../src/wire/api/monitor-api.ts';
import {
  readEligibilityRequest,
  readFenceRequest,
  readLabelsRequest,
  readReason,
} from '../../src/wire/api/monitor-requests.ts';
import type { ProblemError } from '../../src/wire/api/problem.ts';
import { byNumber, hostStatus } from '../hosts/host-status.ts';
import type { MonitorState } from './monitor-state.ts';
import { noSuchHost, refuse } from '../refusals.ts';
import { idIn, pageIn, nextIn, pageOf } from './requests.ts';
import { sharedList } from '../limits/shared-resources.ts';
import type { StoreKeeper } from '../store/store.ts';
import { monitorsOf } from '../view/monitors.ts';

/** @param keeper null: another program maintains the store */
export function hostRoutes(state: MonitorState, keeper: StoreKeeper | null): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/cell',
      right: 'read',
      handle: async () => ({ status: 200, body: await cellStatus(state, keeper) }),
    },
    {
      method: 'GET',
      path: '/v1/hosts',
      right: 'read',
      handle: async (request) => hosts(state, request),
    },
    {
      method: 'GET',
      path: '/v1/hosts/:host',
      right: 'read',
      handle: async (request) => ({
        status: 200,
        body: statusOf(state, idIn(request.params['host'], 'host')),
      }),
    },
    {
      method: 'POST',
      path: '/v1/hosts/:host/eligibility',
      right: 'operate',
      handle: (request) => setEligibility(state, request),
    },
    {
      method: 'POST',
      path: '/v1/hosts/:host/labels',
      right: 'operate',
      handle: (request) => setLabels(state, request),
    },
    {
      method: 'POST',
      path: '/v1/hosts/:host/fences',
      right: 'operate',
      handle: (request) => confirmFence(state, request),
    },
    {
      method: 'DELETE',
      path: '/v1/hosts/:host',
      right: 'operate',
      handle: (request) => remove(state, request),
    },
    {
      method: 'GET',
      path: '/v1/schedulers',
      right: 'read',
      handle: async () => ({ status: 200, body: await state.schedulers.list() }),
    },
  ];
}

function hosts(state: MonitorState, request: RouteRequest): RouteReply {
  const { keys, next } = pageOf(pageIn(request), state.copy.hosts.names(), byNumber);
  const found = keys.flatMap((id) => hostStatus(state.copy, state.follower.view, state.verdictOf, id) ?? []);
  return { status: 200, body: { hosts: found, incomplete: !state.follower.view.complete, ...nextIn(next) } };
}

function statusOf(state: MonitorState, host: string): HostStatus {
  const status = hostStatus(state.copy, state.follower.view, state.verdictOf, host);
  if (status === null) throw noSuchHost(host);
  return status;
}

async function cellStatus(state: MonitorState, keeper: StoreKeeper | null): Promise<CellStatus> {
  const { copy } = state;
  const storeAwaySinceMs = state.storeAwaySinceMs();
  return {
    hosts: { known: copy.hosts.size, alive: copy.alive.size },
    allocations: copy.allocations.size,
    jobs: copy.jobs.size,
    store: (await keeper?.status(state.store)) ?? null,
    shared: sharedList(copy),
    kept: state.kept(),
    monitors: monitorsOf(copy),
    drains: drainsIn(copy),
    ...(storeAwaySinceMs === null ? {} : { storeAwaySinceMs }),
  };
}

/** Drains that are planned or have an end, the earliest first. */
function drainsIn({ eligibility, hosts }: MonitorState['copy']): NonNullable<CellStatus['drains']> {
  const drains = [...eligibility.rows()].flatMap(
    ([
      host,
      {
        value: { state, window },
      },
    ]) => (window === undefined || hosts.get(host) === undefined ? [] : [{ host, state, window }]),
  );
  return drains.sort((a, b) => a.window.atMs - b.window.atMs || byNumber(a.host, b.host));
}

async function setEligibility(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const host = idIn(request.params['host'], 'host');
  const nowMs = Math.round(state.clock.nowMs());
  const wanted = readEligibilityRequest(request.body, nowMs);
  if (state.copy.hosts.get(host) === undefined) throw noSuchHost(host);
  if (wanted.state === 'lost') return await confirm(state, request, 'lost', wanted.reason);
  const by = nameOfCaller(request.peer);
  if (wanted.state === 'draining') return await drain(state, host, { ...wanted, by, nowMs });
  const { state: now, reason } = wanted;
  // A host that is cordoned is drained when that was planned, unless it is what ends the drain.
  const known = state.copy.eligibility.get(host)?.value;
  const stands = now === 'cordoned' && known?.window?.beganAtMs === undefined;
  const change = { state: now, reason, by, ...(stands ? {} : { window: null }) };
  return answerOf(state, host, await state.eligibility.set(host, change));
}

/** Now, or when it is time. */
async function drain(
  state: MonitorState,
  host: string,
  wanted: Omit<EligibilityRequest, 'state'> & { readonly by: string; readonly nowMs: number },
): Promise<RouteReply> {
  const { reason, by, deadlineMs, atMs, forMs, nowMs } = wanted;
  const window: DrainWindow = {
    ...{ atMs: atMs ?? nowMs, reason, by },
    ...(forMs === undefined ? {} : { endsAtMs: (atMs ?? nowMs) + forMs }),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
  };
  if (atMs !== undefined) return answerOf(state, host, await state.eligibility.plan(host, () => window));
  const change = drainedBy(window, nowMs);
  // Without an end nothing is left to be done at a time.
  const now = forMs === undefined ? { ...change, window: null } : change;
  return answerOf(state, host, await state.eligibility.set(host, now));
}

async function setLabels(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const host = idIn(request.params['host'], 'host');
  const { set = {}, remove: removed = [] } = readLabelsRequest(request.body);
  if (state.copy.hosts.get(host) === undefined) throw noSuchHost(host);
  const eligibility = await state.eligibility.label(host, (labels) => {
    const kept = Object.entries(labels).filter(([name]) => !removed.includes(name));
    const all = { ...Object.fromEntries(kept), ...set };
    if (Object.keys(all).length > HOST_LABELS_MAX)
      throw refuse(400, 'bad-request', `a host has at most ${String(HOST_LABELS_MAX)} labels`, {
        path: 'set',
      });
    return all;
  });
  const status = statusOf(state, host);
  const plain = state.copy.hosts.get(host)?.value ?? status.host;
  return { status: 200, body: { ...status, host: labelled(plain, eligibility.labels), eligibility } };
}

async function remove(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const host = idIn(request.params['host'], 'host');
  const reason = readReason(request.query['reason'] ?? '');
  if (state.copy.hosts.get(host) === undefined) throw noSuchHost(host);
  return await confirm(state, request, 'removed', reason);
}

/** An operator's word on a host that does not report: it needs no more time. */
async function confirm(
  state: MonitorState,
  request: RouteRequest,
  confirmed: HostConfirmation,
  reason: string,
): Promise<RouteReply> {
  const host = idIn(request.params['host'], 'host');
  if (isReporting(state.follower.view, host)) throw stillThere(host);
  const nowMs = Math.round(state.clock.nowMs());
  // Without a verdict its session ended just now. The time of a verdict is read after `nowMs`, and may be a millisecond later.
  const silentMs = Math.max(0, nowMs - (state.verdictOf(host)?.sinceMs ?? nowMs));
  const by = nameOfCaller(request.peer);
  const more = confirmed === 'removed' ? { window: null } : {};
  const change = { ...more, state: 'lost', reason, by, confirmed, silentMs } as const;
  // What is removed stays removed until it returns.
  const eligibility = await state.eligibility.set(host, change, (known) => known.confirmed !== 'removed');
  if (eligibility.state !== 'lost') throw stillThere(host);
  return answerOf(state, host, eligibility);
}

/** An operator's word in place of a fence. */
async function confirmFence(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const host = idIn(request.params['host'], 'host');
  const { fence, reason } = readFenceRequest(request.body);
  if (state.copy.hosts.get(host) === undefined) throw noSuchHost(host);
  const atMs = Math.round(state.clock.nowMs());
  const answer = { confirmed: true, detail: reason, by: nameOfCaller(request.peer), atMs };
  const eligibility = await state.eligibility.fence(host, fence, answer);
  if (eligibility === null)
    throw refuse(
      409,
      'host-not-lost',
      `${host} is not lost, or has a session again: there is nothing to confirm`,
      {
        hint: `moorage host lost ${host} --reason TEXT, when its session has ended`,
      },
    );
  return answerOf(state, host, eligibility);
}

function stillThere(host: string): ProblemError {
  return refuse(409, 'host-alive', `${host} reports, or has a session in the store: it is not lost`, {
    hint:
      `moorage host drain ${host} --wait, then stop its agent` +
      ' (a session ends 10 s after its agent stops or is cut off)',
  });
}

function answerOf(state: MonitorState, host: string, eligibility: Eligibility): RouteReply {
  return { status: 200, body: { ...statusOf(state, host), eligibility } };
}
