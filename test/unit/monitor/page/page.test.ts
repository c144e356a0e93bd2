import { gunzipSync, gzipSync } from 'node:zlib';
import { request } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fastifyServer } from '../../../../src/adapters/http/http.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import type { PageFile } from '../../../../src/ports/page.ts';
import type { CellStatus } from '../../../../src/wire/api/cell-api.ts';
import { MonitorWorld } from '../../../support/monitor-world.ts';

const file = (contentType: string, text: string): PageFile => ({
  ...{ contentType, plain: Buffer.from(text), gzip: gzipSync(text) },
});
const page = new Map([
  ['index.html', file('text/html', '<p>the page</p>')],
  ['main-1.js', file('text/javascript', 'run()')],
]);

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

function ask(url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request(url, { method, headers, agent: false }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () =>
        resolve({
          ...{ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks) },
        }),
      );
    });
    call.once('error', reject);
    call.end();
  });
}

describe('28 the page, from a real server', () => {
  let world: MonitorWorld;
  let address: string;
  beforeEach(async () => {
    world = new MonitorWorld();
    ({ address } = await world.monitor('m1', { page, server: fastifyServer({ log: silentLog }) }));
  });
  afterEach(() => world.close());

  it('beside it the document of the API, with no script and no address of another', async () => {
    const { status, headers, body } = await ask(`${address}/docs`);
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    const text = body.toString();
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(text).not.toMatch(/<script|javascript:|\son\w+=|style=|(?:src|href)="(?:https?:)?\/\//);
    const links = [...text.matchAll(/href="#([^"]+)"/g)].map(([, id = '']) => id);
    expect(links.length).toBeGreaterThan(100);
    expect(links.filter((id) => !text.includes(`id="${id}"`))).toEqual([]);
    for (const part of ['POST /v1/jobs', 'GET /v1/hosts/{host}', 'no-such-job', 'id="JobStatus"'])
      expect(text).toContain(part);
    const style = await ask(`${address}/docs/style.css`);
    expect([style.status, style.headers['content-type']]).toEqual([200, 'text/css; charset=utf-8']);
  });

  it('is served with a policy that lets nothing run and nothing be called but what is of the cell', async () => {
    const { status, headers, body } = await ask(`${address}/`);
    expect([status, body.toString()]).toEqual([200, '<p>the page</p>']);
    const policy = String(headers['content-security-policy']);
    for (const part of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "frame-ancestors 'none'",
    ])
      expect(policy.split('; ')).toContain(part);
    expect(policy).not.toMatch(/unsafe|\*/);
    expect(policy).toContain(`connect-src 'self' ${address}`);
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-cache',
    });
  });

  it('its files may be kept for ever, and come compressed to who takes that', async () => {
    const plain = await ask(`${address}/page/main-1.js`);
    expect(plain.headers['cache-control']).toContain('immutable');
    const small = await ask(`${address}/page/main-1.js`, { 'accept-encoding': 'br, gzip' });
    expect(small.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(small.body).toString()).toBe(plain.body.toString());
  });

  it.each(['/page/other.js', '/page/..%2fpackage.json', '/page/%00', '/page/'])(
    '%s is no file',
    async (path) => {
      expect((await ask(`${address}${path}`)).status).toBeGreaterThanOrEqual(400);
    },
  );

  it("pages of the cell's own monitors may call from browsers, and no others", async () => {
    const other = await world.monitor('m2', { server: fastifyServer({ log: silentLog }) });
    const { monitors } = JSON.parse((await ask(`${other.address}/v1/cell`)).body.toString()) as CellStatus;
    expect(monitors).toEqual([
      { id: 'm1', address },
      { id: 'm2', address: other.address },
    ]);
    const preflight = await ask(`${other.address}/v1/runs`, { origin: address }, 'OPTIONS');
    expect(preflight).toMatchObject({ status: 204, headers: { 'access-control-allow-origin': address } });
    expect(preflight.headers['access-control-allow-headers']).toContain('authorization');
    const call = await ask(`${other.address}/v1/jobs`, { origin: address });
    expect(call.headers).toMatchObject({ 'access-control-allow-origin': address, vary: 'origin' });
    for (const origin of ['http://elsewhere.example', 'null', `${address}0`]) {
      const refused = await ask(`${other.address}/v1/jobs`, { origin });
      expect(refused.headers['access-control-allow-origin']).toBeUndefined();
      expect((await ask(`${other.address}/v1/runs`, { origin }, 'OPTIONS')).status).toBe(404);
    }
  });
});
