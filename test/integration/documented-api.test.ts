import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import { OPERATIONS } from '../../src/wire/openapi/operations/operations.ts';
import type { HttpAnswer, HttpClient, Method } from '../../src/ports/http.ts';
import { PROJECT_ROOT } from '../support/cli.ts';
import { seenAnswers, undocumented } from '../support/documented.ts';
import { clientWith, RightsCell, runningOf, stopped, TIMEOUT_MS } from '../support/rights-cell.ts';
import { servedRoutes } from '../support/rights-table.ts';

const run = promisify(execFile);

let cell: RightsCell;
let http: HttpClient;
let api: MonitorClient;
let folder: string;

beforeAll(async () => {
  cell = await RightsCell.start();
  http = clientWith(await cell.authority.credentials('operator', 'ann'));
  api = new MonitorClient(http, { urls: [address()], from: 'a test' });
  folder = mkdtempSync(join(tmpdir(), 'moorage-api-'));
});
afterAll(async () => {
  await http.close();
  await cell.close();
  rmSync(folder, { recursive: true, force: true });
});

function address(): string {
  return cell.addresses.monitor ?? '';
}

async function asked(method: Method, path: string, body?: unknown): Promise<HttpAnswer> {
  const url = address() + path;
  const headers = { 'idempotency-key': 'k1' };
  const answer = await http.call({ ...{ method, url, body, headers }, timeoutMs: TIMEOUT_MS });
  expect(undocumented({ method, url }, answer)).toBeNull();
  return answer;
}

/** For the variables of paths: what is there. */
function filled(path: string, names: Readonly<Record<string, string>>): string {
  return path.replaceAll(/:(\w+)/g, (_, name: string) => names[name] ?? 'some');
}

it('28 a real cell answers as the document says, to every operation', async () => {
  await api.submit({ name: 'shop', type: 'batch', ports: { http: 'auto' }, command: ['sleep', '1000'] });
  const allocation = await runningOf(api, 'shop');
  await api.exec(allocation, { commandId: 'look-0', command: ['true'] });
  const names = {
    ...{ namespace: 'default', job: 'shop', host: 'host-1', id: allocation, command: 'look-0' },
    ...{ what: 'placement', name: 'http.shop.shop.default', claim: 'data', file: 'main.js' },
  };
  // Jobs that are stopped or deleted are not the one that is looked at; what ends without an end of its own is another test's.
  const endless = new Set(['POST /v1/names/follow', 'GET /v1/reports', 'GET /v1/events']);
  const others = /\/(stop|restart|scale|undo|rollout)$|^DELETE|\/eligibility$|\/pauses\//;
  const made: string[] = [];
  for (const { method, path } of servedRoutes().filter(({ server }) => server === 'monitor')) {
    const name = `${method} ${path}`;
    if (method === 'CHANNEL' || endless.has(name) || (method !== 'GET' && others.test(name))) continue;
    const { example } = OPERATIONS[name] ?? {};
    const query = path.endsWith('/exit') ? '?waitMs=0' : '';
    const { status } = await asked(method as Method, filled(path, names) + query, example);
    if (status < 300) made.push(name);
  }
  for (const path of ['/v1/reports?jobs=default/shop', '/v1/events?since=0&follow=false'])
    made.push(`GET ${path} ${String((await asked('GET', path)).status)}`);

  // Each act with what undoes it, so that the cell goes on.
  const acts: readonly (readonly [Method, string, unknown?])[] = [
    ['POST', '/v1/jobs/default/shop/scale', { count: 2 }],
    ['POST', '/v1/jobs/default/shop/undo', { version: 1 }],
    ['POST', '/v1/jobs/default/shop/rollout', { act: 'pause' }],
    ['POST', '/v1/jobs/default/shop/restart'],
    ['POST', '/v1/hosts/host-1/eligibility', { state: 'cordoned', reason: 'a test' }],
    ['POST', '/v1/hosts/host-1/eligibility', { state: 'ready', reason: '' }],
    ['PUT', '/v1/pauses/placement', { reason: 'a test', pool: 'rack-7' }],
    ['DELETE', '/v1/pauses/placement?pool=rack-7'],
    ['DELETE', '/v1/quotas/some'],
    ['DELETE', '/v1/quotas/default'],
    ['DELETE', '/v1/shared/none'],
    ['DELETE', '/v1/verdicts?suspect=host%2Fhost-1'],
    ['DELETE', '/v1/volumes/default/data'],
    ['DELETE', '/v1/hosts/host-1'],
    ['DELETE', '/v1/tokens/some'],
    ['DELETE', '/v1/invitations/some'],
    ['DELETE', `/v1/openid/${encodeURIComponent(names.name)}`],
    ['DELETE', '/v1/secrets/default/none'],
    ['DELETE', '/v1/jobs/default/hello-2'],
    ['POST', '/v1/jobs/default/shop/stop'],
  ];
  for (const [method, path, body] of acts) await asked(method, path, body);
  const unseen = Object.keys(OPERATIONS).filter((name) => {
    const [method = '', path = ''] = name.split(' ');
    const start = `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')} `;
    return method !== 'CHANNEL' && ![...seenAnswers].some((seen) => seen.startsWith(start));
  });
  expect(unseen).toEqual(['POST /v1/names/follow']);
  expect(made.filter((name) => name.startsWith('GET')).length).toBeGreaterThan(25);
  await stopped(api, 'shop');
});

it('28 a client in Python, made of the document, runs a job over TLS with a token', async () => {
  const caFile = join(folder, 'ca.pem');
  writeFileSync(caFile, (await cell.authority.folder.keyPair()).certificate);
  const python = async (file: string, ...args: readonly string[]): Promise<string> => {
    const path = join(PROJECT_ROOT, 'test/support', file);
    const env = { PATH: process.env['PATH'], PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' };
    return (await run('python3', [path, ...args], { env, timeout: TIMEOUT_MS })).stdout;
  };
  const { token } = await api.createToken({
    ...{ name: 'bob', scope: 'submit', namespaces: ['default'], ttlMs: 600_000 },
  });
  const made = await python('generate-client.py', `${address()}/v1/openapi.json`, caFile, token);
  writeFileSync(join(folder, 'moorage_client.py'), made);

  expect(JSON.parse(await python('run-job.py', address(), caFile, token))).toMatchObject({
    ...{ submitted: [true, false], phase: 'failed', exit: { code: 3 }, log: 'hello from python\n' },
    ...{ run: ['complete', { code: 0 }], runLog: 'once\n', me: 'submit' },
    events: expect.arrayContaining(['job-submitted', 'placed', 'failed']) as unknown,
    refusals: {
      ...{ absent: [400, 'bad-request'], guarded: [409, 'version-mismatch'], broken: [400, 'bad-job'] },
      'not-allowed': [403, 'forbidden'],
    },
  });
});
