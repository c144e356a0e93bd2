import { nameOfCaller, sees } from '../../src/core/access/access.ts';
import { revisionOf } from '../../src/core/detector/suspects.ts';
import type { Verdict } from '../../src/core/detector/verdict.ts';
import { isVerdictOn } from '../../src/core/detector/verdict.ts';
import type { Pause, PauseScope } from '../../src/core/quota/pauses.ts';
import { isInForce, pauseName } from '../../src/core/quota/pauses.ts';
import type { Route, RouteReply, RouteRequest } from '../../src/ports/http.ts';
import type { PausesAnswer } from '../../src/wire/api/pause-api.ts';
import { readPausable, readPause, readPauseScope } from '../../src/wire/api/pause-api.ts';
import type { VerdictsAnswer } from '../../src/wire/verdicts/verdicts.ts';
import { readRemedyPolicy, readSuspect } from '../../src/wire/verdicts/verdicts.ts';
import { remedyPolicyCodec } from '../../src/wire/verdicts/verdict-records.ts';
import { policyOf } from '../detector/remedies.ts';
import { MUTED_MS, VerdictWriter } from '../detector/verdicts.ts';
import { writeLimit } from '../limits/limits.ts';
import { PAUSES_MAX, pausesIn, setPause } from '../limits/pauses.ts';
import { refuse } from '../refusals.ts';
import type { MonitorState } from './monitor-state.ts';
import { caughtUp, revisionHeader } from './requests.ts';

export function pauseRoutes(state: MonitorState): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/pauses',
      right: 'read',
      handle: async (request) => ({ status: 200, body: seenBy(state, request) }),
    },
    {
      method: 'PUT',
      path: '/v1/pauses/:what',
      right: 'operate',
      handle: (request) => pause(state, request),
    },
    {
      method: 'DELETE',
      path: '/v1/pauses/:what',
      right: 'operate',
      handle: (request) => resume(state, request),
    },
  ];
}

/** Those of other namespaces are nobody's business. */
function seenBy({ copy }: MonitorState, { peer }: RouteRequest): PausesAnswer {
  const isSeen = ({ namespace }: PauseScope): boolean => namespace === undefined || sees(peer, namespace);
  return { pauses: pausesIn(copy).filter(isSeen) };
}

async function pause(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const what = readPausable(request.params['what']);
  const { reason, forMs, ...scope } = readPause(request.body);
  const known = state.copy.pauses.get(pauseName(what, scope))?.value;
  if (!isInForce(known) && state.copy.pauses.size >= PAUSES_MAX)
    throw refuse(409, 'too-many-pauses', `${String(PAUSES_MAX)} are paused, or were within a day`);
  const sinceMs = state.clock.nowMs();
  const until = forMs === undefined ? {} : { untilMs: sinceMs + forMs };
  const made: Omit<Pause, 'what'> = { by: nameOfCaller(request.peer), reason, sinceMs, ...until };
  return await answer(state, request, await setPause(state, what, scope, made));
}

async function resume(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const what = readPausable(request.params['what']);
  const scope = readPauseScope(request.query);
  return await answer(state, request, await setPause(state, what, scope, null));
}

async function answer(state: MonitorState, request: RouteRequest, revision: number): Promise<RouteReply> {
  await caughtUp(state, request, revision);
  const known = Math.max(revision, state.copy.changedAt);
  return { status: 200, headers: revisionHeader(known), body: seenBy(state, request) };
}

/** Who is at fault, and what is done about it. */
export function verdictRoutes(state: MonitorState): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/verdicts',
      right: 'read',
      handle: async (request) => ({ status: 200, body: verdictsSeenBy(state, request) }),
    },
    {
      method: 'DELETE',
      path: '/v1/verdicts',
      right: 'operate',
      handle: (request) => clearVerdict(state, request),
    },
    {
      method: 'GET',
      path: '/v1/remedies',
      right: 'operate',
      handle: async () => ({ status: 200, body: policyOf(state) }),
    },
    { method: 'PUT', path: '/v1/remedies', right: 'operate', handle: (request) => setPolicy(state, request) },
  ];
}

/** Those of other namespaces are nobody's business; what they say of jobs there is left out. */
function verdictsSeenBy({ copy }: MonitorState, { peer }: RouteRequest): VerdictsAnswer {
  const all = [...copy.verdicts.rows()].map(([, { value }]) => value);
  const isSeen = ({ suspect }: Verdict): boolean => {
    const revision = revisionOf(suspect);
    return revision === null || sees(peer, revision.namespace);
  };
  const shown = (verdict: Verdict): Verdict => {
    const { jobs } = verdict.evidence;
    const seen = jobs.filter((job) => sees(peer, job.slice(0, job.indexOf('/'))));
    // How tasks of others ended is theirs alone.
    const reasons = seen.length === jobs.length ? verdict.evidence.reasons : [];
    return { ...verdict, evidence: { ...verdict.evidence, jobs: seen, reasons } };
  };
  const order = (verdict: Verdict): number => (isVerdictOn(verdict) ? 0 : 1);
  return {
    verdicts: all
      .filter(isSeen)
      .map(shown)
      .sort((a, b) => order(a) - order(b) || b.sinceMs - a.sinceMs),
  };
}

async function clearVerdict(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const suspect = readSuspect(request.query);
  const by = nameOfCaller(request.peer);
  const revision = await new VerdictWriter(state).end(suspect, { by, why: 'cleared', mutedMs: MUTED_MS });
  if (revision === null)
    throw refuse(404, 'no-such-verdict', `nobody has found ${suspect} at fault`, {
      hint: 'moorage verdicts',
    });
  await caughtUp(state, request, revision);
  return { status: 200, headers: revisionHeader(revision), body: verdictsSeenBy(state, request) };
}

async function setPolicy(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const policy = readRemedyPolicy(request.body);
  const value = remedyPolicyCodec.encode(policy);
  const revision = await writeLimit(state, { kind: 'put', key: state.keys.remedies, value });
  await caughtUp(state, request, revision);
  return { status: 200, headers: revisionHeader(revision), body: policyOf(state) };
}
