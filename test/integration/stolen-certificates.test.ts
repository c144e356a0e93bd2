import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { webSocketClient } from '../../src/adapters/http/channel-client.ts';
import { delegationSigner } from '../../src/adapters/pki/delegations.ts';
import { undiciClient } from '../../src/adapters/http/client.ts';
import { sha256Hex } from '../../src/adapters/system/digest.ts';
import { HostClient } from '../../src/clients/host-client.ts';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import { isForAnybody } from '../../src/core/access/access.ts';
import type { Delegation } from '../../src/core/access/delegation.ts';
import { DELEGATED_ACTS, DELEGATION_TTL_MS, askedText } from '../../src/core/access/delegation.ts';
import type { IdentityRole } from '../../src/core/access/identity.ts';
import { isTerminal } from '../../src/core/host/states.ts';
import type { HttpClient, Method } from '../../src/ports/http.ts';
import { DELEGATION_HEADER } from '../../src/wire/access/access.ts';
import { requestFor } from '../../src/wire/api/arbiter-api.ts';
import { someStart, someStop } from '../support/host-orders.ts';
import type { ServerRole } from '../support/rights-table.ts';
import { servedRoutes } from '../support/rights-table.ts';
import { someTerms } from '../support/tickets.ts';
import { RightsCell, stopped, TIMEOUT_MS, runningOf } from '../support/rights-cell.ts';

let cell: RightsCell;

beforeAll(async () => {
  cell = await RightsCell.start();
});
afterAll(() => cell.close());

describe('S4.13 I39 a stolen certificate', () => {
  const clients: HttpClient[] = [];
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
  });
  async function as(role: IdentityRole, id: string): Promise<HttpClient> {
    const client = undiciClient({ credentials: await cell.authority.credentials(role, id) });
    clients.push(client);
    return client;
  }
  const at = (server: ServerRole): string => cell.addresses[server] ?? '';

  it('of a scheduler ends nothing of another, enters nothing, and gets and uses no ticket of another', async () => {
    const operator = new MonitorClient(await as('operator', 'ann'), {
      urls: [at('monitor')],
      from: 'a test',
    });
    await operator.submit({ name: 'victim', type: 'batch', command: ['sleep', '1000'] });
    const id = await runningOf(operator, 'victim');
    const thief = await as('scheduler', 'thief');
    const hosts = new HostClient(thief);
    const stopped = await hosts.stop(at('agent'), id, someStop());
    expect(stopped).toMatchObject({ kind: 'refused', code: 'not-yours' });
    expect((await hosts.remove(at('agent'), id, 'a-removal')).kind).toBe('unknown');
    await expect(hosts.exec(at('agent'), id, { commandId: 'c1', command: ['true'] })).rejects.toThrow(
      'this identity may not do that',
    );
    const order = someStart({ allocation: { host: 'host-1', scheduler: 'batch-1' } });
    expect(await call(thief, 'PUT', `${at('agent')}/v1/allocations/${order.allocation.id}`, order)).toEqual([
      403,
      'not-yours',
    ]);
    const terms = someTerms({ scheduler: 'batch-1' });
    const asked = requestFor('batch-1', [[terms]]);
    expect(await call(thief, 'POST', `${at('arbiter')}/v1/tickets`, asked)).toEqual([403, 'not-yours']);
    const quota = { allocations: 0 };
    expect(await call(thief, 'PUT', `${at('monitor')}/v1/quotas/default`, quota)).toEqual([403, 'forbidden']);
    expect((await hosts.get(at('agent'), id))?.state).toBe('running');

    // Whose it is may end it: through the store, and on the host by its owner.
    await operator.stop({ namespace: 'default', job: 'victim' });
    for (;;) {
      const report = await hosts.get(at('agent'), id);
      if (report === null || isTerminal(report.state)) return;
      await pause(50);
    }
  });

  it('I17 of a scheduler makes no host deaf to the others by an epoch that nobody has made', async () => {
    const thief = await as('scheduler', 'thief');
    const { incarnation } = someStop().epoch;
    const epoch = { incarnation, counter: 1_000_000 };
    const path = `${at('agent')}/v1/allocations/${someStart().allocation.id}`;
    expect(await call(thief, 'POST', `${path}/stop`, { ...someStop(), epoch })).toEqual([
      409,
      'epoch-unknown',
    ]);
    const operator = new MonitorClient(await as('operator', 'ann'), {
      urls: [at('monitor')],
      from: 'a test',
    });
    await operator.submit({ name: 'heard', type: 'batch', command: ['sleep', '1000'] });
    await runningOf(operator, 'heard');
    await operator.stop({ namespace: 'default', job: 'heard' });
  });

  it('of a monitor enters no task: each delegation is for one host, allocation, act, request, and for seconds', async () => {
    const operator = new MonitorClient(await as('operator', 'ann'), {
      urls: [at('monitor')],
      from: 'a test',
    });
    await operator.submit({ name: 'entered', type: 'batch', command: ['sleep', '1000'] });
    const id = await runningOf(operator, 'entered');
    const body = { commandId: 's1', signal: 'SIGCONT' };
    const other = { ...body, signal: 'SIGKILL' };
    // What a person does through a monitor, its host lets be done.
    const through = await as('operator', 'ann');
    expect(await call(through, 'POST', `${at('monitor')}/v1/allocations/${id}/signal`, body)).toEqual([
      200,
      '',
    ]);

    const stolen = await cell.authority.credentials('monitor', 'monitor-1');
    const sign = delegationSigner(stolen);
    const right: Delegation = {
      ...{ by: 'operator/ann', host: 'host-1', allocation: id, act: 'signal' },
      request: sha256Hex(askedText({ query: {}, body })),
      ...{ notBeforeMs: Date.now(), expiresMs: Date.now() + DELEGATION_TTL_MS },
    };
    const thief = undiciClient({ credentials: stolen });
    clients.push(thief);
    /** @returns why the host refuses it; `done` */
    const signal = async (text: string | null, sent: unknown = body, who = thief): Promise<string> => {
      const { status, body: answer } = await who.call({
        ...{ method: 'POST', url: `${at('agent')}/v1/allocations/${id}/signal`, body: sent },
        ...(text === null ? {} : { headers: { [DELEGATION_HEADER]: text } }),
        timeoutMs: TIMEOUT_MS,
      });
      if (status === 200) return 'done';
      const { code, detail } = answer as { readonly code: string; readonly detail: string };
      expect([status, code]).toEqual([403, 'not-delegated']);
      return detail.slice(detail.lastIndexOf(': ') + 2);
    };
    const earlier = { notBeforeMs: Date.now() - 60_000, expiresMs: Date.now() - 50_000 };
    expect(await signal(null)).toBe('there is none');
    expect(await signal(sign({ ...right, host: 'host-2' }))).toBe('other-host');
    expect(await signal(sign({ ...right, allocation: 'another' }))).toBe('other-allocation');
    for (const act of DELEGATED_ACTS.filter((one) => one !== 'signal'))
      expect(await signal(sign({ ...right, act }))).toBe('other-act');
    expect(await signal(sign(right), other)).toBe('other-request');
    expect(await signal(sign({ ...right, ...earlier }))).toBe('expired');
    expect(await signal(sign({ ...right, expiresMs: Date.now() + 3_600_000 }))).toBe('counts-too-long');
    expect(await signal(sign(right), body, await as('monitor', 'monitor-2'))).toBe(
      'another monitor signed it',
    );
    const scheduler = delegationSigner(await cell.authority.credentials('scheduler', 'batch-1'));
    expect(await signal(scheduler(right))).toBe('unknown-signer');
    const hosts = new HostClient(thief);
    const logs = { task: 'main', stream: 'stdout', offset: 0, follow: false } as const;
    await expect(hosts.logs(at('agent'), id, logs)).rejects.toThrow('no delegation');
    await expect(hosts.exec(at('agent'), id, { commandId: 'c1', command: ['true'] })).rejects.toThrow(
      'no delegation',
    );
    const attach = { url: `${at('agent')}/v1/allocations/${id}/attach`, timeoutMs: TIMEOUT_MS };
    expect(await webSocketClient(stolen).open(attach)).toMatchObject({
      answer: { status: 403, body: { code: 'not-delegated' } },
    });
    // Nothing of that did anything; what was passed on does.
    expect((await hosts.get(at('agent'), id))?.state).toBe('running');
    expect(await signal(sign(right))).toBe('done');
    await stopped(operator, 'entered');
  });

  it('of a former owner ends no more what it ordered itself, when another has taken its job over', async () => {
    const operator = new MonitorClient(await as('operator', 'ann'), {
      urls: [at('monitor')],
      from: 'a test',
    });
    const job = { namespace: 'default', job: 'inherited' };
    await operator.submit({ name: job.job, type: 'batch', command: ['sleep', '1000'] });
    const id = await runningOf(operator, job.job);
    await cell.replaceScheduler('batch-2');
    const ownerOf = async () => (await operator.jobs()).jobs.find(({ name }) => name === job.job)?.owner;
    while ((await ownerOf()) !== 'batch-2') await pause(50);
    const hosts = new HostClient(await as('scheduler', 'batch-1'));
    const before = await hosts.get(at('agent'), id);
    expect(await hosts.stop(at('agent'), id, someStop())).toMatchObject({
      kind: 'refused',
      code: 'not-yours',
    });
    expect((await hosts.remove(at('agent'), id, 'a-removal')).kind).toBe('unknown');
    expect(await hosts.get(at('agent'), id)).toMatchObject({ state: 'running' });
    expect(before?.state).toBe('running');
    await stopped(operator, job.job);
  });

  it('of a host asks monitors for names and arbiters for its part of the rate of fetches, and nothing else', async () => {
    const host = await as('agent', 'host-1');
    for (const server of ['monitor', 'scheduler', 'arbiter'] as const) {
      const { status } = await host.call({
        method: 'GET',
        url: `${at(server)}/livez`,
        timeoutMs: TIMEOUT_MS,
      });
      expect(status).toBe(200);
    }
    const paths = servedRoutes().filter(
      ({ method, right }) => method !== 'CHANNEL' && right !== 'health' && !isForAnybody(right),
    );
    const own: readonly string[] = ['names', 'fetch-slices'];
    for (const route of paths.filter(({ right }) => !own.includes(right)))
      expect((await call(host, route.method as Method, cell.urlOf(route), {}))[0]).toBe(403);
  });

  async function call(
    client: HttpClient,
    method: Method,
    url: string,
    body: unknown,
  ): Promise<readonly [status: number, code: string]> {
    const answer = await client.call({ method, url, body, timeoutMs: TIMEOUT_MS });
    return [answer.status, (answer.body as { readonly code?: string } | undefined)?.code ?? ''];
  }
});
