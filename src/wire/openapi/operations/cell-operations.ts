import { eligibilityRequest, fenceRequest, labelsRequest } from '../../api/monitor-requests.ts';
import type { Operation } from './operation.ts';
import { text, count, flag, ok, plain, BAD, PAGE, UNSURE } from './operation.ts';

/** Of the cell, its hosts and the monitor itself. */
export const CELL_OPERATIONS: Readonly<Record<string, Operation>> = {
  'GET /v1/hosts': {
    summary: 'Lists hosts, `host-9` before `host-10`',
    query: PAGE,
    answers: ok('HostListAnswer'),
    errors: BAD,
  },
  'GET /v1/hosts/:host': {
    summary: 'Tells of one host',
    answers: ok('HostStatus'),
    errors: { ...BAD, 404: ['no-such-host'] },
  },
  'POST /v1/hosts/:host/eligibility': {
    summary: 'Says whether a host takes new work, or drains it',
    ...{ body: eligibilityRequest, example: { state: 'draining', reason: 'new disks', deadlineMs: 600_000 } },
    answers: ok('HostStatus'),
    errors: { ...BAD, 404: ['no-such-host'], 409: ['host-alive', 'contended'], ...UNSURE },
  },
  'POST /v1/hosts/:host/fences': {
    summary: 'Says that a lost host runs no more what was placed there, in place of a fence',
    ...{ body: fenceRequest, example: { fence: 'power', reason: 'its plug is pulled' } },
    answers: ok('HostStatus'),
    errors: { ...BAD, 404: ['no-such-host'], 409: ['host-not-lost'], 503: ['contended', 'outcome-unknown'] },
  },
  'POST /v1/hosts/:host/labels': {
    summary: 'Gives a host labels, or takes them away; what no longer matches there moves',
    ...{ body: labelsRequest, example: { set: { zone: 'a' }, remove: ['rack'] } },
    answers: ok('HostStatus'),
    errors: { ...BAD, 404: ['no-such-host'], 503: ['contended', 'outcome-unknown'] },
  },
  'DELETE /v1/hosts/:host': {
    summary: 'Gives a silent host up for good',
    query: [text('reason', 'why, for people')],
    answers: ok('HostStatus'),
    errors: { ...BAD, 404: ['no-such-host'], 409: ['host-alive', 'contended'], ...UNSURE },
  },
  'GET /v1/schedulers': { summary: 'Tells what each scheduler does', answers: ok('SchedulerListAnswer') },
  'GET /v1/cell': { summary: 'Tells of the cell as a whole', answers: ok('CellStatus') },
  'GET /v1/events': {
    summary: 'Tells what happens, live',
    query: [
      text('since', 'after this event; 0: all that is held; now (the default): none of it'),
      flag('follow', 'goes on (the default), or ends after what is held'),
      count('limit', 'ends after so many; the next ones come `since` the last of them'),
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
    query: [
      text('jobs', '<namespace>/<job>, with commas between: what hosts report of these now'),
      text('hosts', 'own: what hosts say to this monitor itself, for other monitors'),
    ],
    answers: [{ status: 200, type: 'application/x-ndjson', of: 'ReportFrame, one a line' }],
    errors: BAD,
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
  'GET /v1/alarms': { summary: 'Tells what somebody should look at, and why', answers: ok('AlarmsAnswer') },
  'GET /version': { summary: 'Which version this monitor is', answers: ok('VersionAnswer') },
  'GET /v1/schema/job.json': {
    summary: 'JSON Schema of a job file, for editors',
    answers: [{ status: 200, type: 'application/schema+json', of: 'JSON Schema 2020-12' }],
  },
  'GET /v1/openapi.json': {
    summary: 'This document',
    answers: [{ status: 200, type: 'application/vnd.oai.openapi+json', of: 'OpenAPI 3.1' }],
  },
  'GET /docs': {
    summary: 'This document for people, a page without scripts',
    answers: [{ status: 200, type: 'text/html', of: 'the page' }],
  },
  'GET /docs/style.css': {
    summary: 'The style of that page',
    answers: [{ status: 200, type: 'text/css', of: 'the style' }],
  },
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
