import { OPERATIONS } from '../../../src/wire/openapi/operations/operations.ts';
import { requestFor } from '../../../src/wire/api/arbiter-api.ts';
import { someStart, someStop, someTask } from '../host-orders.ts';
import type { ServedRoute } from '../rights-table.ts';
import { someTerms } from '../tickets.ts';

/**
 * Bodies that routes take, from which others are made. Texts that begin with `@` are filled in from the cell as it is when they
 * are sent: what is drawn from a seed does not depend on ids that a cell draws for itself.
 */

const { ticket: _ticket, ...start } = someStart({
  allocation: { id: '@new', host: '@host', job: 'fuzz-1', group: 'main', scheduler: '@scheduler' },
  tasks: [someTask({ env: { GREETING: 'hello' }, limits: { pids: 16 } })],
  commandId: 'start-1',
});
const terms = someTerms({ aud: '@host', scheduler: '@scheduler' });

const SERVICE = {
  ...{ name: 'fuzz-2', type: 'service', namespace: 'default', count: 1, precedence: 40 },
  groups: {
    main: {
      count: 1,
      ports: ['http'],
      class: 'latency',
      avoid: ['noisy', { class: 'cache', over: 'host.rack' }],
      near: ['web', { class: 'db', over: 'host.zone', weight: 80 }],
      restart: { attempts: 1, delay: '1s' },
      tasks: { main: { command: ['sleep', '5'], resources: { cpu: '10m', memory: '16Mi' } } },
    },
  },
  constraints: ['host.os == linux'],
};

/** Besides those of the API's own document. */
const MORE: Readonly<Record<string, readonly unknown[]>> = {
  'monitor POST /v1/jobs': [
    SERVICE,
    { name: 'fuzz-1', type: 'batch', script: 'echo $GREETING', env: { GREETING: 'x' } },
  ],
  'monitor POST /v1/runs': [{ name: 'fuzz-3', command: ['cat'], stdin: true, timeout: '5s' }],
  'monitor PUT /v1/secrets/:namespace/:name': [{ sealed: '@sealed' }],
  'monitor POST /v1/names/follow': [{ names: ['http.web.shop.default'] }],
  'monitor POST /v1/join': [{ publicKey: '@publicKey', proof: '@proof' }],
  'agent PUT /v1/allocations/:id': [
    { ...start, ticket: '@ticket' },
    { ...start, ticket: null },
  ],
  'agent POST /v1/allocations/:id/stop': [someStop()],
  'agent POST /v1/batch': [
    {
      calls: [
        {
          ...{ method: 'PUT', path: '/v1/allocations/@new', headers: { traceparent: 'none' } },
          body: { ...start, ticket: '@ticket' },
        },
        { method: 'POST', path: '/v1/allocations/none/stop', body: someStop() },
        { method: 'DELETE', path: '/v1/allocations/none?commandId=c1' },
      ],
    },
  ],
  'agent POST /v1/allocations/:id/exec': [
    {
      commandId: 'c1',
      command: ['echo', 'x'],
      env: { A: 'b' },
      cwd: '/',
      terminal: { rows: 24, columns: 80 },
      input: true,
    },
  ],
  'agent POST /v1/allocations/:id/signal': [{ commandId: 's1', task: 'main', signal: 'SIGCONT' }],
  'monitor POST /v1/jobs/:namespace/:job/moves': [
    { moves: [{ allocation: '@allocation', to: '@host' }], reason: 'x' },
  ],
  'monitor POST /v1/plan': [
    { hostsLost: ['@host'] },
    { hostsAdded: { count: 2, like: '@host' } },
    { rebalance: { budget: 3 } },
  ],
  'scheduler POST /v1/plan': [
    {
      cell: { hostsLost: ['@host'], hostsAdded: [], placed: [terms.claim], freed: [] },
      evicted: [{ namespace: 'default', job: 'fuzz-2', id: '@new', by: 'fuzz-1' }],
      affected: true,
    },
  ],
  'arbiter POST /v1/fetch-slices': [{ attributes: {} }, { attributes: { rack: 'r1' } }],
  'arbiter POST /v1/tickets': [
    requestFor('@scheduler', [[terms], [someTerms({ ...terms, namespace: 'other' }), terms]]),
    requestFor('@scheduler', [[terms]]),
  ],
};

/** Routes that change something and take no body. */
const BODILESS = new Set([
  ...['stop', 'restart'].map((act) => `monitor POST /v1/jobs/:namespace/:job/${act}`),
]);

/** @throws Error naming a route that takes a body of which there is no example */
export function examplesOf(route: ServedRoute): readonly unknown[] {
  const name = `${route.server} ${route.method} ${route.path}`;
  const documented =
    route.server === 'monitor' ? OPERATIONS[`${route.method} ${route.path}`]?.example : undefined;
  const all = [...(documented === undefined ? [] : [documented]), ...(MORE[name] ?? [])];
  if (all.length === 0 && /POST|PUT/.test(route.method) && !BODILESS.has(name))
    throw new Error(`there is no example of a body for ${name}: add one to test/support/fuzz/examples.ts`);
  return all;
}
