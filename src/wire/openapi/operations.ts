import type { z } from 'zod';
import { sharedResourceRequest } from '../api/cell-api.ts';
import { execRequest, signalRequest } from '../api/exec-api.ts';
import { eligibilityRequest, rolloutRequest, scaleRequest, undoRequest } from '../api/monitor-requests.ts';
import { namesWanted } from '../api/names-frames.ts';
import { pauseRequest } from '../api/pause-api.ts';
import { quotaRequest } from '../api/quota-api.ts';
import { openIdRequest } from '../access/openid-requests.ts';
import { secretRequest, tokenRequest } from '../access/token-requests.ts';
import { invitationRequest, joinRequest } from '../join/join-requests.ts';

/** What the document says of one route, beyond its method, path and right. */
export interface Operation {
  /** A sentence without its full stop. */
  readonly summary: string;
  /** The shape that its body is checked by. */
  readonly body?: z.ZodType | 'JobFile' | 'JobFiles';
  /** A body that it takes. */
  readonly example?: unknown;
  readonly query?: readonly Parameter[];
  readonly headers?: readonly Parameter[];
  readonly answers: readonly Answer[];
  /** Codes of its own, by status; those that every route may answer stand once for all. */
  readonly errors?: Readonly<Record<number, readonly string[]>>;
}

export interface Parameter {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean';
  readonly says: string;
  readonly required?: true;
}

export interface Answer {
  readonly status: number;
  /** Default `application/json`; null: there is no body. */
  readonly type?: string | null;
  /** The type of the body, as `import type` of the package names it; or what it is. */
  readonly of: string;
}

const text = (name: string, says: string): Parameter => ({ name, type: 'string', says });
const count = (name: string, says: string): Parameter => ({ name, type: 'integer', says });
const flag = (name: string, says: string): Parameter => ({ name, type: 'boolean', says });

const NAMESPACE = text('namespace', 'of this namespace only');
const JOB = text('job', 'of this job only');
const ok = (of: string): readonly Answer[] => [{ status: 200, of }];
const NOTHING: Answer = { status: 204, type: null, of: 'done, also when there was none' };
const plain = (of: string): Answer => ({ status: 200, type: 'text/plain', of });

const NO_JOB = { 404: ['no-such-job'] };
const BAD = { 400: ['bad-request'] };
const UNSURE = { 503: ['outcome-unknown'] };

/** A new version of a job, made of what is there. */
const RENEWED: readonly Answer[] = [
  { status: 201, of: 'SubmitAnswer' },
  { status: 200, of: 'SubmitAnswer, when nothing changed' },
];

const JOB_FILE = { name: 'hello', type: 'batch', count: 2, command: ['echo', 'hello'] };
const QUOTA = { cpuMilli: 8_000, memoryMib: 16_384, gpuMilli: null, allocations: 100 };
const COMMAND = { commandId: 'look-1', command: ['ls', '-l'] };

/** By method and path, as the routes have them. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
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
  'GET /v1/jobs': { summary: 'Lists jobs', query: [NAMESPACE], answers: ok('JobListAnswer'), errors: BAD },
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
  'GET /v1/allocations': {
    summary: 'Lists allocations, what is wanted and what hosts report side by side',
    query: [NAMESPACE, JOB],
    answers: ok('AllocationListAnswer'),
    errors: BAD,
  },
  'GET /v1/usage': {
    summary: 'Measures what allocations use now',
    query: [NAMESPACE, JOB],
    answers: ok('CellUsage'),
    errors: BAD,
  },
  'GET /v1/hosts': { summary: 'Lists hosts', answers: ok('HostListAnswer') },
  'POST /v1/hosts/:host/eligibility': {
    summary: 'Says whether a host takes new work, or drains it',
    ...{ body: eligibilityRequest, example: { state: 'draining', reason: 'new disks', deadlineMs: 600_000 } },
    answers: ok('HostStatus'),
    errors: { ...BAD, 404: ['no-such-host'], 409: ['host-alive', 'contended'], ...UNSURE },
  },
  'DELETE /v1/hosts/:host': {
    summary: 'Gives a silent host up for good',
    query: [text('reason', 'why, for people')],
    answers: ok('HostStatus'),
    errors: { ...BAD, 404: ['no-such-host'], 409: ['host-alive', 'contended'], ...UNSURE },
  },
  'GET /v1/schedulers': { summary: 'Tells what each scheduler does', answers: ok('SchedulerListAnswer') },
  'GET /v1/cell': { summary: 'Tells of the cell as a whole', answers: ok('CellStatus') },
  'PUT /v1/shared/:name': {
    summary: 'Says what hosts share',
    body: sharedResourceRequest,
    example: { unit: 'Mbit/s', by: 'host.rack', capacity: 10_000, capacities: { r7: 4_000 } },
    answers: ok('SharedStatus'),
    errors: { ...BAD, 409: ['too-many', 'contended'], ...UNSURE },
  },
  'DELETE /v1/shared/:name': {
    summary: 'Removes what hosts share',
    answers: [NOTHING],
    errors: { ...BAD, 409: ['contended'], ...UNSURE },
  },
  'GET /v1/quotas': {
    summary: 'Lists what namespaces may use, and do',
    answers: ok('QuotaListAnswer'),
  },
  'PUT /v1/quotas/:namespace': {
    summary: 'Says what a namespace may use',
    ...{ body: quotaRequest, example: QUOTA },
    answers: ok('QuotaStatus'),
    errors: { ...BAD, ...UNSURE },
  },
  'DELETE /v1/quotas/:namespace': {
    summary: 'Lets a namespace use what is there',
    answers: [NOTHING],
    errors: { ...BAD, ...UNSURE },
  },
  'GET /v1/volumes': {
    summary: 'Lists volumes: where data lies that outlives allocations',
    query: [NAMESPACE],
    answers: ok('VolumeListAnswer'),
    errors: BAD,
  },
  'DELETE /v1/volumes/:namespace/:claim': {
    summary: 'Deletes the data of a volume for good',
    query: [flag('lost', 'data on a host that does not answer is given up')],
    answers: [NOTHING],
    errors: {
      ...{ ...BAD, 403: ['other-namespace'], 404: ['no-such-volume'] },
      ...{ 409: ['volume-in-use', 'host-away', 'contended'], ...UNSURE },
    },
  },
  'GET /v1/names': {
    summary: 'Lists names with who serves them; with `follow`, goes on with what changes',
    query: [
      NAMESPACE,
      flag('follow', 'a stream of NameFrame, one JSON a line, without an end'),
      text('names', 'with `follow`: these only, with commas between'),
    ],
    answers: ok('NameListAnswer'),
    errors: BAD,
  },
  'POST /v1/names/follow': {
    summary: 'Tells who serves these names, and goes on with what changes',
    body: namesWanted,
    answers: [
      { status: 200, type: 'application/x-ndjson', of: 'NameFrame, one JSON a line, without an end' },
    ],
    errors: BAD,
  },
  'GET /v1/names/:name': {
    summary: 'Tells who serves a name: port.group.job.namespace',
    answers: ok('NameAnswer'),
    errors: { ...BAD, 404: ['no-such-name'] },
  },
  'GET /v1/pauses': { summary: 'Tells what is paused', answers: ok('PausesAnswer') },
  'PUT /v1/pauses/:what': {
    summary: 'Pauses placement, eviction, rollouts or restarts, in the whole cell or in a scope of it',
    ...{
      body: pauseRequest,
      example: { reason: 'the network is rebuilt', forMs: 3_600_000, pool: 'rack-7' },
    },
    answers: ok('PausesAnswer'),
    errors: { ...BAD, 409: ['too-many-pauses'], 503: ['contended', 'outcome-unknown'] },
  },
  'DELETE /v1/pauses/:what': {
    summary: 'Lets what was paused, in the whole cell or in this scope of it, go on',
    query: [NAMESPACE, JOB, text('pool', 'on the hosts of this pool'), text('host', 'on this host')],
    answers: ok('PausesAnswer'),
    errors: { ...BAD, 503: ['contended', 'outcome-unknown'] },
  },
  'GET /v1/whoami': { summary: 'Tells who the caller is to the cell', answers: ok('WhoAmI') },
  'GET /v1/tokens': {
    summary: 'Lists tokens, without what it takes to use them',
    answers: ok('TokenListAnswer'),
  },
  'POST /v1/tokens': {
    summary: 'Makes a token; no other answer shows it',
    body: tokenRequest,
    example: { name: 'bob', scope: 'submit', namespaces: ['team-a'], ttlMs: 86_400_000 },
    answers: [{ status: 201, of: 'NewToken' }],
    errors: { ...BAD, 409: ['too-many-tokens'], ...UNSURE },
  },
  'DELETE /v1/tokens/:id': {
    summary: 'Revokes a token',
    answers: [{ status: 204, type: null, of: 'it counts no more' }],
    errors: { ...BAD, 404: ['no-such-token'], ...UNSURE },
  },
  'GET /v1/openid': {
    summary: 'Lists the OpenID providers whose tokens count, and what this monitor knows of their keys',
    answers: ok('OpenIdListAnswer'),
  },
  'PUT /v1/openid/:name': {
    summary: 'Lets the tokens of an OpenID provider count',
    body: openIdRequest,
    example: {
      ...{ issuer: 'https://login.example.org', audience: 'moorage', namespacesClaim: 'groups' },
      scopeClaim: 'moorage_scope',
    },
    answers: ok('OpenIdStatus'),
    errors: { ...BAD, 409: ['too-many-providers'], ...UNSURE },
  },
  'DELETE /v1/openid/:name': {
    summary: 'Lets them count no more',
    answers: [{ status: 204, type: null, of: 'they count no more' }],
    errors: { ...BAD, 404: ['no-such-provider'], ...UNSURE },
  },
  'GET /v1/secrets': {
    summary: 'Lists secrets, without what is sealed',
    query: [NAMESPACE],
    answers: ok('SecretListAnswer'),
    errors: BAD,
  },
  'GET /v1/secrets-key': {
    summary: 'The key of the hosts, to which secrets are sealed',
    answers: ok('HostKeyAnswer'),
    errors: { 404: ['no-host-key'] },
  },
  'PUT /v1/secrets/:namespace/:name': {
    summary: 'Sets a secret, which comes sealed',
    body: secretRequest,
    answers: [{ status: 204, type: null, of: 'it is set' }],
    errors: { ...BAD, 403: ['other-namespace'], 409: ['too-many-secrets'], ...UNSURE },
  },
  'DELETE /v1/secrets/:namespace/:name': {
    summary: 'Deletes a secret',
    answers: [{ status: 204, type: null, of: 'it is gone' }],
    errors: { ...BAD, 403: ['other-namespace'], 404: ['no-such-secret'], ...UNSURE },
  },
  'GET /v1/invitations': {
    summary: 'Lists invitations, without what it takes to use them',
    answers: ok('InvitationListAnswer'),
  },
  'DELETE /v1/invitations/:id': {
    summary: 'Takes an invitation back',
    answers: [{ status: 204, type: null, of: 'it lets nobody in any more' }],
    errors: { ...BAD, 404: ['no-such-invitation'], 409: ['invitation-used', 'contended'], ...UNSURE },
  },
  'POST /v1/invitations': {
    summary: 'Makes an invitation, with which a machine becomes a host, once',
    ...{ body: invitationRequest, example: { host: 'host-7', hosts: ['10.0.0.7'], ttlMs: 3_600_000 } },
    answers: [{ status: 201, of: 'NewInvitation' }],
    errors: { ...BAD, 409: ['too-many-invitations'], ...UNSURE },
  },
  'POST /v1/join': {
    summary: 'Makes the machine that shows an invitation a host',
    body: joinRequest,
    answers: ok('JoinAnswer'),
    errors: {
      ...BAD,
      403: ['not-invited', 'invitation-gone', 'invitation-ended', 'invitation-used'],
      ...UNSURE,
    },
  },
  'GET /v1/audit': {
    summary: 'Lists who did what',
    query: [
      text('by', 'who begins with this'),
      text('act', 'this act only'),
      text('target', 'what begins with this'),
      NAMESPACE,
      count('since', 'from then on, in milliseconds since 1970'),
      count('limit', 'the newest so many, 1,000 at most'),
    ],
    answers: ok('AuditAnswer'),
    errors: BAD,
  },
  'GET /v1/jobs/:namespace/:job/logs': {
    summary: 'Reads the output of a task',
    query: [
      text('stream', 'stdout (the default) or stderr'),
      text('group', 'of this group; default: the only one'),
      count('index', 'of this allocation of the group'),
      text('allocation', 'of this allocation, by id'),
      text('task', 'of this task; default: the first that is no sidecar'),
      count('offset', 'from this byte on'),
      text('offsetOf', 'the allocation whose bytes `offset` counts'),
      flag('follow', 'waits for the start, and ends with the allocation'),
    ],
    answers: [
      {
        status: 200,
        type: 'application/octet-stream',
        of: 'the bytes; headers x-offset, x-allocation, x-task say which',
      },
      { status: 204, type: null, of: 'it has not started yet: ask again' },
    ],
    errors: {
      ...BAD,
      404: ['no-such-job', 'no-such-allocation', 'not-started'],
      410: ['log-gone'],
      503: ['host-unreachable'],
    },
  },
  'GET /v1/events': {
    summary: 'Tells what happens, live',
    query: [
      text('since', 'after this event; 0: all that is held; now (the default): none of it'),
      flag('follow', 'goes on (the default), or ends after what is held'),
    ],
    headers: [
      text('last-event-id', 'the same as `since`, which it goes before'),
      text('accept', 'text/event-stream, or NDJSON'),
    ],
    answers: [
      { status: 200, type: 'application/x-ndjson', of: 'CellEvent, one a line; an empty line is a beat' },
      { status: 200, type: 'text/event-stream', of: 'CellEvent' },
    ],
    errors: BAD,
  },
  'GET /v1/reports': {
    summary: 'The merged reports of all hosts, for other roles',
    query: [text('jobs', '<namespace>/<job>, with commas between: what hosts report of these now')],
    answers: [{ status: 200, type: 'application/x-ndjson', of: 'ReportFrame, one a line' }],
    errors: BAD,
  },
  'POST /v1/allocations/:id/exec': {
    summary: 'Runs a command inside an allocation; the same command id again runs nothing more',
    ...{ body: execRequest, example: COMMAND },
    answers: ok('CommandStatus'),
    errors: { ...BAD, 404: ['no-such-allocation'], 409: ['not-running'], 503: ['host-unreachable'] },
  },
  'GET /v1/allocations/:id/exec/:command': {
    summary: 'Tells how a command inside an allocation stands',
    answers: ok('CommandStatus'),
    errors: { ...BAD, 404: ['no-such-allocation', 'no-command'], 503: ['host-unreachable'] },
  },
  'POST /v1/allocations/:id/signal': {
    summary: 'Sends a signal to a task, or to a command inside it',
    ...{ body: signalRequest, example: { commandId: 'reload-1', signal: 'SIGHUP' } },
    answers: ok('SignalAnswer'),
    errors: { ...BAD, 404: ['no-such-allocation'], 409: ['not-running'], 503: ['host-unreachable'] },
  },
  'CHANNEL /v1/allocations/:id/attach': {
    summary: 'A WebSocket to a task or to a command inside it: output, and input for one client',
    query: [
      text('task', 'this task'),
      text('command', 'this command inside it'),
      count('stdout', 'from this byte of its output on'),
      count('stderr', 'from this byte of its errors on'),
      text('session', 'the same after a cut'),
      text('input', 'free (the default), take or none'),
    ],
    answers: [{ status: 101, type: null, of: 'frames of src/wire/api/attach-frames.ts' }],
    errors: { ...BAD, 404: ['no-such-allocation'], 503: ['host-unreachable'] },
  },
  'GET /livez': { summary: 'Whether the process lives', answers: [plain('ok')] },
  'GET /readyz': {
    summary: 'Whether the store answers',
    query: [text('verbose', 'a line for each check')],
    answers: [plain('ok'), { status: 503, type: 'text/plain', of: 'not ready' }],
  },
  'GET /metrics': { summary: 'Metrics, as Prometheus reads them', answers: [plain('one a line')] },
  'GET /v1/metrics/targets': {
    summary: 'Where the metrics of all roles are, as the http_sd_configs of Prometheus read it',
    answers: ok('ScrapeTargets'),
  },
  'GET /version': { summary: 'Which version this monitor is', answers: ok('VersionAnswer') },
  'GET /v1/schema/job.json': {
    summary: 'JSON Schema of a job file, for editors',
    answers: [{ status: 200, type: 'application/schema+json', of: 'JSON Schema 2020-12' }],
  },
  'GET /v1/openapi.json': { summary: 'This document', answers: ok('OpenAPI 3.1') },
  'GET /': {
    summary: 'The page that people see',
    answers: [{ status: 200, type: 'text/html', of: 'the page' }],
    errors: { 404: ['not-found'] },
  },
  'GET /page/:file': {
    summary: 'A file of the page',
    answers: [{ status: 200, type: '*/*', of: 'the file' }],
    errors: { 404: ['not-found'] },
  },
};
