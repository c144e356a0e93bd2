import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RIGHTS } from '../../../../src/core/access/access.ts';
import type { HttpCall } from '../../../../src/ports/http.ts';
import { apiPage } from '../../../../src/wire/openapi/api-page.ts';
import type { OpenApi, OpenApiOperation } from '../../../../src/wire/openapi/openapi.ts';
import { openApiOf } from '../../../../src/wire/openapi/openapi.ts';
import { EXAMPLES } from '../../../../src/wire/openapi/answers/answer-examples.ts';
import { ANSWERS } from '../../../../src/wire/openapi/answers/answers.ts';
import { OPERATIONS } from '../../../../src/wire/openapi/operations/operations.ts';
import { PROJECT_ROOT } from '../../../support/cli.ts';
import { monitorDocument, schemaFault, undocumented } from '../../../support/documented.ts';
import { hostRecord, MonitorWorld } from '../../../support/monitor-world.ts';
import { servedRoutes } from '../../../support/rights-table.ts';
import { hostCodec } from '../../../../src/wire/records/records.ts';

const served = servedRoutes().filter(({ server }) => server === 'monitor');
const document = monitorDocument;

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

describe('28 the API explains itself', () => {
  it('every route that is served is in the document with its right, and nothing else is said of any', () => {
    expect(operations).toHaveLength(served.length);
    const said = Object.keys(OPERATIONS).sort();
    expect(said).toEqual(served.map(({ method, path }) => `${method} ${path}`).sort());
    for (const { method, path, right } of served) {
      const operation = document.paths[path.replaceAll(/:(\w+)/g, '{$1}')]?.[
        method === 'CHANNEL' ? 'get' : method.toLowerCase()
      ] as OpenApiOperation;
      expect(operation['x-right'], path).toBe(right);
      expect(RIGHTS).toContain(operation['x-right']);
    }
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('a route that it does not know keeps a monitor from starting', () => {
    const unknown = { method: 'GET', path: '/v1/unknown', right: 'read' } as const;
    expect(() => openApiOf([unknown], '0')).toThrow('GET /v1/unknown');
  });

  it('every code with which a monitor refuses is in the document', () => {
    const known = new Set(
      operations.flatMap(({ operation }) =>
        Object.values(operation.responses).flatMap((response) => response['x-codes'] ?? []),
      ),
    );
    const sources = ['monitor', 'src/adapters/http'].flatMap((folder) =>
      readdirSync(join(PROJECT_ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => readFileSync(join(PROJECT_ROOT, folder, name), 'utf8')),
    );
    const used = sources.flatMap((text) =>
      [...text.matchAll(/refuse\(\s*\d{3},\s*'([a-z-]+)'/g), ...text.matchAll(/code: '([a-z-]+)'/g)].map(
        ([, code = '']) => code,
      ),
    );
    expect(used.length).toBeGreaterThan(40);
    expect([...new Set(used)].filter((code) => !known.has(code))).toEqual([]);
  });

  it.each(Object.keys(ANSWERS).filter((name) => !['Problem', 'Exit'].includes(name)))(
    'the example of %s is one',
    (name) => {
      const parts = ['Restarts', 'Allocation', 'AllocationReport', 'AllocationStatus'];
      if (!parts.includes(name)) expect(schemaFault(name, EXAMPLES[name])).toBeNull();
      else expect(schemaFault(name, {})).not.toBeNull();
    },
  );

  it('an answer with another shape, or with more than the document says, is found', () => {
    const answer = EXAMPLES['RunAnswer'] as object;
    expect(schemaFault('RunAnswer', { ...answer, created: 'yes' })).toContain('boolean');
    expect(schemaFault('RunAnswer', { ...answer, more: 1 })).toContain('says nothing');
    expect(schemaFault('RunAnswer', { namespace: 'default', job: 'a' })).toContain('created');
    expect(
      undocumented({ method: 'GET', url: 'http://memory/1/v1/hosts' }, { status: 418, body: {} }),
    ).toContain('418');
    const problem = { status: 404, code: 'no-such-code', detail: '' };
    const url = 'http://memory/1/v1/jobs/a/b';
    expect(undocumented({ method: 'GET', url }, { status: 404, body: problem })).toContain('no-such-code');
  });

  it('docs/api.md is made of it', async () => {
    await expect(apiPage(document)).toMatchFileSnapshot(join(PROJECT_ROOT, 'docs', 'api.md'));
  });
});

describe('28 a monitor that is asked', () => {
  let world: MonitorWorld;
  let address: string;
  beforeAll(async () => {
    world = new MonitorWorld();
    ({ address } = await world.monitor());
    const record = hostRecord('host-1', 'http://host-1');
    const job = { namespace: 'some', name: 'some', type: 'service', command: ['true'] };
    await world.call('POST', `${address}/v1/jobs`, job);
    await world.write([{ kind: 'put', key: world.keys.host('host-1'), value: hostCodec.encode(record) }]);
  });
  afterAll(() => world.close());

  const call = (method: string, path: string, body: unknown) =>
    world.call(
      method.toUpperCase() as HttpCall['method'],
      address +
        path
          .replace('{host}', 'host-1')
          .replace('{what}', 'placement')
          .replaceAll(/\{\w+\}/g, 'some'),
      body,
      { 'idempotency-key': 'k1' },
    );
  const withBodies = operations.flatMap(({ path, method, operation }) => {
    const content = operation.requestBody?.content['application/json'];
    return content === undefined ? [] : [{ name: `${method} ${path}`, path, method, content }];
  });

  it('answers with the same document', async () => {
    const { status, body } = await world.call('GET', `${address}/v1/openapi.json`);
    expect(status).toBe(200);
    expect((body as OpenApi).paths).toEqual(JSON.parse(JSON.stringify(document.paths)));
  });

  it.each(withBodies.filter(({ content }) => content.example !== undefined))(
    'takes the example of $name',
    async ({ path, method, content }) => {
      const { status, body } = await call(method, path, content.example);
      // What is not there is looked for after the body was read: an allocation, an update under way, an earlier version.
      const fine = /\/allocations\/|\/undo$/.test(path)
        ? [404]
        : /\/(rollout|moves|fences)$/.test(path)
          ? [409]
          : [200, 201];
      expect(fine, JSON.stringify(body)).toContain(status);
    },
  );

  it.each(withBodies)(
    'refuses for $name what has a key that the document does not',
    async ({ path, method, content }) => {
      const wrong = { ...(content.example as object | undefined), noSuchKey: 1 };
      const { status, body } = await call(method, path, path.endsWith('/bulk') ? [wrong] : wrong);
      if (path.endsWith('/bulk')) expect(body).toMatchObject({ results: [{ problem: { status: 400 } }] });
      else expect(status).toBe(400);
    },
  );
});
