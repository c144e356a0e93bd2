import { nameOfCaller } from '../../src/core/access/access.ts';
import type { Route, RouteReply, RouteRequest } from '../../src/ports/http.ts';
import type { SubmitAnswer } from '../../src/wire/api/monitor-api.ts';
import {
  readRolloutRequest,
  readScaleRequest,
  readUndoRequest,
} from '../../src/wire/api/monitor-requests.ts';
import { readMovesRequest } from '../../src/wire/plan/plan-requests.ts';
import type { Written } from '../jobs/job-writes.ts';
import { movesOf } from '../jobs/moves.ts';
import { tracedSubmit } from '../jobs/traced-submit.ts';
import { refuse } from '../refusals.ts';
import type { MonitorState } from './monitor-state.ts';
import { caughtUp, findJob, revisionHeader } from './requests.ts';

/** Versions of a job, and its updates. */
export function rolloutRoutes(state: MonitorState): Route[] {
  const path = '/v1/jobs/:namespace/:job';
  return [
    {
      method: 'POST',
      path: `${path}/rollout`,
      right: 'submit',
      handle: (request) => steer(state, request),
    },
    { method: 'POST', path: `${path}/undo`, right: 'submit', handle: (request) => undo(state, request) },
    {
      method: 'POST',
      path: `${path}/scale`,
      right: 'submit',
      handle: (request) =>
        renew(state, request, (namespace, job, traceparent) => {
          return state.writes.scale(namespace, job, readScaleRequest(request.body), traceparent);
        }),
    },
    {
      method: 'POST',
      path: `${path}/restart`,
      right: 'submit',
      handle: (request) =>
        renew(state, request, (namespace, job, traceparent) =>
          state.writes.restart(namespace, job, traceparent),
        ),
    },
    {
      method: 'POST',
      path: `${path}/moves`,
      right: 'submit',
      handle: (request) => move(state, request),
    },
    {
      method: 'GET',
      path: `${path}/history`,
      right: 'read',
      handle: async (request) => ({
        status: 200,
        body: { versions: state.versions.history(await findJob(state, request)) },
      }),
    },
  ];
}

async function steer(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const { act } = readRolloutRequest(request.body);
  const jobKey = await findJob(state, request);
  const { name } = namesOf(jobKey);
  if (!state.statuses.isUpdating(jobKey))
    throw refuse(409, 'no-rollout', `no update of ${name} is under way`, {
      hint: `moorage rollout status ${name}`,
    });
  const { namespace } = namesOf(jobKey);
  const revision = await state.writes.steer(namespace, name, act);
  await caughtUp(state, request, revision);
  return { status: 200, headers: revisionHeader(revision), body: state.statuses.summary(jobKey) };
}

async function move(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  const wanted = readMovesRequest(request.body);
  const jobKey = await findJob(state, request);
  const asked = {
    ...{ by: nameOfCaller(request.peer), nowMs: state.clock.nowMs() },
    isUpdating: state.statuses.isUpdating(jobKey),
  };
  const moves = movesOf(state.copy, jobKey, wanted, asked);
  const { namespace, name } = namesOf(jobKey);
  const revision = await state.writes.move(namespace, name, moves);
  await caughtUp(state, request, revision);
  return { status: 200, headers: revisionHeader(revision), body: state.statuses.summary(jobKey) };
}

function undo(state: MonitorState, request: RouteRequest): Promise<RouteReply> {
  return renew(state, request, async (namespace, job, traceparent) => {
    const { version } = readUndoRequest(request.body);
    const jobKey = await findJob(state, request);
    const to = version ?? state.versions.before(jobKey);
    if (to === null)
      throw refuse(409, 'no-such-version', `${job} has no earlier version`, {
        hint: `moorage history ${job}`,
      });
    return state.writes.restore(namespace, job, { to, from: null }, traceparent);
  });
}

async function renew(
  state: MonitorState,
  request: RouteRequest,
  write: (namespace: string, job: string, traceparent: string | undefined) => Promise<Written<SubmitAnswer>>,
): Promise<RouteReply> {
  const jobKey = await findJob(state, request);
  const { namespace, name } = namesOf(jobKey);
  const { answer, revision } = await tracedSubmit(
    state,
    request,
    (traceparent) => write(namespace, name, traceparent),
    (written) => ({ job: jobKey, version: written.answer.version }),
  );
  return { status: answer.changed ? 201 : 200, headers: revisionHeader(revision), body: answer };
}

function namesOf(jobKey: string): { readonly namespace: string; readonly name: string } {
  const [namespace = '', name = ''] = jobKey.split('/');
  return { namespace, name };
}
