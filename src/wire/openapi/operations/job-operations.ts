import { movesRequest, planRequest } from '../../plan/plan-requests.ts';
import { rolloutRequest, scaleRequest, undoRequest } from '../../api/monitor-requests.ts';
import type { Operation } from './operation.ts';
import { text, count, NAMESPACE, PAGE, ok, NO_JOB, BAD, UNSURE, RENEWED } from './operation.ts';

const JOB_FILE = { name: 'hello', type: 'batch', count: 2, command: ['echo', 'hello'] };

/** Of jobs and runs. */
export const JOB_OPERATIONS: Readonly<Record<string, Operation>> = {
  'POST /v1/jobs': {
    summary: 'Submits a job; the same file again changes nothing',
    ...{ body: 'JobFile', example: JOB_FILE },
    headers: [
      text('if-match', 'the version that must be there now; 0: none'),
      text('traceparent', 'the trace that this belongs to'),
    ],
    answers: [
      { status: 201, of: 'SubmitAnswer' },
      { status: 200, of: 'SubmitAnswer, when nothing changed' },
    ],
    errors: {
      400: ['bad-job', 'bad-request'],
      403: ['other-namespace'],
      409: ['version-mismatch', 'type-immutable', 'name-taken', 'contended'],
      ...UNSURE,
    },
  },
  'POST /v1/jobs/bulk': {
    summary: 'Submits a list of jobs, each answered as if it had been submitted alone',
    ...{ body: 'JobFiles', example: [JOB_FILE, { ...JOB_FILE, name: 'hello-2' }] },
    answers: ok('BulkAnswer, also when jobs are refused'),
    errors: { ...BAD, 409: ['named-twice'] },
  },
  'GET /v1/jobs': {
    summary: 'Lists jobs, by namespace and name',
    query: [NAMESPACE, ...PAGE],
    answers: ok('JobListAnswer'),
    errors: BAD,
  },
  'GET /v1/jobs/:namespace/:job': {
    summary: 'Tells how a job stands: its record, allocations, outcomes',
    answers: ok('JobStatus'),
    errors: { ...BAD, ...NO_JOB },
  },
  'DELETE /v1/jobs/:namespace/:job': {
    summary: 'Stops a job, and deletes it when its hosts have released everything',
    answers: ok('JobSummary'),
    errors: { ...BAD, ...NO_JOB, 409: ['contended'], ...UNSURE },
  },
  'GET /v1/jobs/:namespace/:job/why': {
    summary: 'Tells why a job does not run: hosts, and the check that refused each',
    answers: ok('Why'),
    errors: { ...BAD, ...NO_JOB },
  },
  'POST /v1/jobs/:namespace/:job/stop': {
    summary: 'Stops a job',
    answers: ok('JobSummary'),
    errors: { ...BAD, ...NO_JOB, 409: ['contended'], ...UNSURE },
  },
  'POST /v1/jobs/:namespace/:job/rollout': {
    summary: 'Pauses or resumes an update, or lets it go on from its first allocations',
    ...{ body: rolloutRequest, example: { act: 'pause' } },
    answers: ok('JobSummary'),
    errors: { ...BAD, ...NO_JOB, 409: ['no-rollout', 'contended'], ...UNSURE },
  },
  'POST /v1/jobs/:namespace/:job/undo': {
    summary: 'Makes a new version of what an earlier one was; without a version, of the last good one',
    ...{ body: undoRequest, example: { version: 1 } },
    answers: RENEWED,
    errors: {
      ...BAD,
      404: ['no-such-job', 'no-such-version'],
      409: ['no-such-version', 'contended'],
      ...UNSURE,
    },
  },
  'POST /v1/jobs/:namespace/:job/scale': {
    summary: 'Makes a new version with another count',
    ...{ body: scaleRequest, example: { count: 3 } },
    answers: RENEWED,
    errors: { ...BAD, ...NO_JOB, 409: ['not-counted', 'contended'], ...UNSURE },
  },
  'POST /v1/jobs/:namespace/:job/restart': {
    summary: 'Makes a new version of the same, so that all of it starts anew',
    answers: RENEWED,
    errors: { ...BAD, ...NO_JOB, 409: ['not-a-service', 'contended'], ...UNSURE },
  },
  'POST /v1/jobs/:namespace/:job/moves': {
    summary: 'Asks to have allocations of a service on other hosts, in turn, by the rules of its updates',
    ...{
      body: movesRequest,
      example: { moves: [{ allocation: '01k0e6p7vbq2x4r8s1t3w5y7za', to: 'host-2' }], reason: '' },
    },
    answers: ok('JobSummary'),
    errors: {
      ...BAD,
      404: ['no-such-job', 'no-such-host'],
      409: ['not-placed', 'not-movable', 'wrong-host', 'too-many-moves', 'contended'],
      ...UNSURE,
    },
  },
  'GET /v1/jobs/:namespace/:job/history': {
    summary: 'Lists the versions of a job, the newest first',
    answers: ok('HistoryAnswer'),
    errors: { ...BAD, ...NO_JOB },
  },
  'GET /v1/jobs/:namespace/:job/exit': {
    summary: 'Waits for the end of a one-off run, and tells how it ended',
    query: [count('waitMs', 'how long to wait, 60,000 at most')],
    answers: [
      { status: 200, of: 'RunExit' },
      { status: 204, type: null, of: 'it did not end in this time' },
    ],
    errors: { ...BAD, ...NO_JOB },
  },
  'POST /v1/plan': {
    summary:
      'Tells what would start, stop, move, be preempted or wait if something changed; nothing is written',
    ...{ body: planRequest, example: { submit: JOB_FILE } },
    answers: ok('PlanAnswer'),
    errors: {
      400: ['bad-job', 'bad-request'],
      403: ['other-namespace'],
      404: ['no-such-host'],
      409: ['type-immutable', 'name-taken'],
    },
  },
  'POST /v1/runs': {
    summary: 'Runs a batch job once; the same key again finds the same run',
    ...{ body: 'JobFile', example: { name: 'once', command: ['echo', 'hello'] } },
    headers: [{ ...text('idempotency-key', 'a new one for each run'), required: true }],
    answers: [
      { status: 201, of: 'RunAnswer' },
      { status: 200, of: 'RunAnswer, when the key had made it already' },
    ],
    errors: { 400: ['bad-job', 'bad-request'], 403: ['other-namespace'], ...UNSURE },
  },
};
