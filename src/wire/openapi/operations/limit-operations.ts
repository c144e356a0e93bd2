import { sharedResourceRequest } from '../../api/cell-api.ts';
import { namesWanted } from '../../api/names-frames.ts';
import { budgetPolicyRequest } from '../../budgets/budget-records.ts';
import { remedyPolicyRequest } from '../../verdicts/verdict-records.ts';
import { pauseRequest } from '../../api/pause-api.ts';
import { quotaRequest } from '../../api/quota-api.ts';
import type { Operation } from './operation.ts';
import { text, flag, NAMESPACE, JOB, ok, NOTHING, BAD, UNSURE } from './operation.ts';

const QUOTA = { cpuMilli: 8_000, memoryMib: 16_384, gpuMilli: null, allocations: 100 };

/** Of what bounds use, and of names. */
export const LIMIT_OPERATIONS: Readonly<Record<string, Operation>> = {
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
    errors: { ...BAD, 409: ['too-many'], ...UNSURE },
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
  'GET /v1/verdicts': { summary: 'Tells who is at fault, and why', answers: ok('VerdictsAnswer') },
  'DELETE /v1/verdicts': {
    summary: 'Ends a verdict and undoes its remedies; the suspect is not found again for an hour',
    query: [text('suspect', 'who, as the verdict names it: `host/host-1`')],
    answers: ok('VerdictsAnswer'),
    errors: { ...BAD, 404: ['no-such-verdict'], 409: ['contended'], 503: ['outcome-unknown'] },
  },
  'GET /v1/remedies': { summary: 'Tells what is done about verdicts', answers: ok('RemedyPolicy') },
  'PUT /v1/remedies': {
    summary: 'Says what is done about verdicts; what is left out is as by default',
    ...{ body: remedyPolicyRequest, example: { host: ['quarantine'], sharePercent: 10 } },
    answers: ok('RemedyPolicy'),
    errors: { ...BAD, 503: ['outcome-unknown'] },
  },
  'GET /v1/budgets': {
    summary: 'Tells what the cell may do of its own accord, and what is left of that',
    answers: ok('BudgetsAnswer'),
  },
  'PUT /v1/budgets': {
    summary: 'Says what the cell may do of its own accord; what is left out is not bounded',
    body: budgetPolicyRequest,
    example: {
      moves: { burst: 20, perHour: 100 },
      replacements: { per: { attribute: 'rack', burst: 20, perHour: 100 } },
    },
    answers: ok('BudgetsAnswer'),
    errors: { ...BAD, 503: ['outcome-unknown'] },
  },
  'DELETE /v1/pauses/:what': {
    summary: 'Lets what was paused, in the whole cell or in this scope of it, go on',
    query: [NAMESPACE, JOB, text('pool', 'on the hosts of this pool'), text('host', 'on this host')],
    answers: ok('PausesAnswer'),
    errors: { ...BAD, 503: ['contended', 'outcome-unknown'] },
  },
};
