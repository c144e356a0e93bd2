import { sees } from '../../src/core/access/access.ts';
import type { Route, RouteReply, RouteRequest } from '../../src/ports/http.ts';
import type { Alarm, AlarmsAnswer } from '../../src/wire/api/cell-api.ts';
import { isOfJob } from '../alarms/alarms.ts';
import { scrapeTargets } from '../view/scrape-targets.ts';
import type { MonitorState } from './monitor-state.ts';
import { untilAborted, withDeadline } from '../../src/runtime/wait/wait.ts';

/** A store that takes longer than this for one read counts as away. */
const STORE_CHECK_MS = 1_000;

export function healthRoutes(state: MonitorState): Route[] {
  return [
    { method: 'GET', path: '/livez', right: 'health', handle: async () => text(200, 'ok\n') },
    { method: 'GET', path: '/readyz', right: 'health', handle: (request) => ready(state, request) },
    { method: 'GET', path: '/metrics', right: 'metrics', handle: (request) => metrics(state, request) },
    {
      method: 'GET',
      path: '/v1/metrics/targets',
      right: 'metrics',
      handle: async () => ({ status: 200, body: scrapeTargets(state.copy) }),
    },
    {
      method: 'GET',
      path: '/v1/alarms',
      right: 'read',
      handle: async (request) => ({ status: 200, body: alarmsSeenBy(state, request) }),
    },
    {
      method: 'GET',
      path: '/version',
      right: 'health',
      handle: async () => ({
        status: 200,
        body: { version: state.version, role: 'monitor', id: state.self, startedAtMs: state.startedAtMs },
      }),
    },
  ];
}

/** Those about jobs of other namespaces are nobody's business. */
function alarmsSeenBy(state: MonitorState, { peer }: RouteRequest): AlarmsAnswer {
  const { alarms, afterMs } = state.alarms();
  const isSeen = (alarm: Alarm): boolean =>
    !isOfJob(alarm) || sees(peer, alarm.subject.slice(0, alarm.subject.indexOf('/')));
  return { alarms: alarms.filter(isSeen), afterMs };
}

/** Not ready when the store is away: reads of the view still answer, writes do not. */
async function ready(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const startMs = state.clock.monotonicMs();
  const storeFine = await storeAnswers(state, request.signal);
  const tookMs = Math.round(state.clock.monotonicMs() - startMs);
  const lines = [
    `[${storeFine ? '+' : '-'}]store ${storeFine ? 'ok' : 'no answer'} ${String(tookMs)}ms`,
    `[+]hosts ${String(state.copy.hosts.size)} known, view ${state.follower.view.complete ? 'complete' : 'incomplete'}`,
  ];
  const verbose = request.query['verbose'] !== undefined;
  const summary = storeFine ? 'ok' : 'not ready';
  return text(storeFine ? 200 : 503, verbose ? `${lines.join('\n')}\n${summary}\n` : `${summary}\n`);
}

async function storeAnswers(state: MonitorState, caller: AbortSignal): Promise<boolean> {
  const deadline = withDeadline(state.clock, STORE_CHECK_MS, caller);
  const late = untilAborted(deadline.signal).then(() => false);
  const read = state.store.read([state.keys.meta]).then(
    () => true,
    () => false,
  );
  try {
    return await Promise.race([read, late]);
  } finally {
    deadline.done();
  }
}

async function metrics(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const { metrics: all, copy, follower, relay, events } = state;
  all.gauge('moorage_monitor_hosts', copy.hosts.size);
  const alive = [...copy.hosts.rows()].filter(([id]) => copy.alive.get(id) !== undefined).length;
  all.gauge('moorage_monitor_silent_hosts', copy.hosts.size - alive);
  all.gauge('moorage_monitor_allocations', copy.allocations.size);
  all.gauge('moorage_monitor_reported_allocations', follower.view.size);
  all.gauge('moorage_monitor_followed_hosts', follower.heardDirectly);
  all.gauge('moorage_monitor_view_complete', follower.view.complete ? 1 : 0);
  all.gauge('moorage_monitor_host_silence_seconds', follower.hostSilenceMs / 1_000);
  all.gauge('moorage_monitor_readers', relay.readers, { stream: 'reports' });
  all.gauge('moorage_monitor_readers', events.readers, { stream: 'events' });
  return { status: 200, ...(await all.render(request.headers['accept'])) };
}

function text(status: number, body: string): RouteReply {
  return { status, body, contentType: 'text/plain; charset=utf-8' };
}
