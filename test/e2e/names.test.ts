import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobStatus } from '../../src/wire/api/monitor-api.ts';
import type { NameAnswer } from '../../src/wire/api/names-api.ts';
import type { CliProcess, DevCellProcess } from '../support/cli.ts';
import { ended, PROJECT_ROOT, runCli, startCli, startDevCell, testFolder } from '../support/cli.ts';
import { freePort } from '../support/free-port.ts';

const folder = testFolder();
const NAME = 'http.web.shop.default';
let cell: DevCellProcess;

const moorage = (...args: readonly string[]) => runCli(args, { cwd: folder.path });
const example = (file: string): string => join(PROJECT_ROOT, 'examples', file);
const endpoints = async (): Promise<NameAnswer['endpoints']> =>
  (JSON.parse((await moorage('names', NAME, '-o', 'json')).stdout) as NameAnswer).endpoints;

beforeAll(async () => {
  cell = await startDevCell(folder.path, ['--hosts', '3', '--monitors', '2']);
});
afterAll(async () => {
  expect((await cell.stop()).code).toBe(0);
  folder[Symbol.dispose]();
});

/** nginx as in the examples, on a port of its own. */
async function startProxy(): Promise<{ readonly url: string; readonly stop: () => Promise<unknown> }> {
  const port = await freePort();
  const config = readFileSync(example('proxied-nginx.conf'), 'utf8').replace('8088', String(port));
  writeFileSync(join(folder.path, 'nginx.conf'), config);
  const child = spawn('nginx', ['-p', `${folder.path}/`, '-c', 'nginx.conf'], { cwd: folder.path });
  const end = ended(child);
  const stop = async (): Promise<unknown> => {
    child.kill('SIGTERM');
    return await end;
  };
  return { url: `http://127.0.0.1:${String(port)}/`, stop };
}

function startRender(): CliProcess {
  copyFileSync(example('proxied-upstream.template'), join(folder.path, 'proxied-upstream.template'));
  const reload = 'test ! -s nginx.pid || nginx -p . -c nginx.conf -s reload';
  const files = ['--template', 'proxied-upstream.template', '--out', 'upstream.conf'];
  return startCli(['names', 'render', NAME, ...files, '--exec', reload], { cwd: folder.path });
}

async function allocations(): Promise<JobStatus['allocations']> {
  return (JSON.parse((await moorage('status', 'shop', '-o', 'json')).stdout) as JobStatus).allocations;
}

/** Asks again and again; the test's own time limit ends it. */
async function untilServed(holds: (served: NameAnswer['endpoints']) => boolean): Promise<void> {
  while (!holds(await endpoints()));
}

describe('names, and a proxy that follows them', () => {
  it('S0.30: an update, a kill and a drain behind nginx under load lose no request', async () => {
    expect((await moorage('run', example('proxied.yaml'))).code).toBe(0);
    const before = await endpoints();
    expect(before).toHaveLength(3);
    const render = startRender();
    await render.says('upstream.conf: 3 endpoints');
    const proxy = await startProxy();
    while (!existsSync(join(folder.path, 'nginx.pid'))) await endpoints();
    // Each request has a connection of its own: nginx before 1.27 may close an idle one just when it is used again.
    const load = spawn('wrk', ['-t1', '-c8', '-d60s', '-H', 'Connection: close', proxy.url]);
    const loaded = ended(load);

    expect((await moorage('restart', 'shop')).code).toBe(0);
    await untilServed((served) => served.length === 3 && served.every(({ jobVersion }) => jobVersion === 2));

    const victim = (await allocations()).find(({ allocation }) => allocation.desired === 'run');
    const pid = victim?.report?.tasks['server']?.pid ?? 0;
    process.kill(pid, 'SIGKILL');
    const isAnother = async (): Promise<boolean> => {
      const now = (await allocations()).find(({ allocation }) => allocation.id === victim?.allocation.id);
      return (now?.report?.tasks['server']?.pid ?? pid) !== pid;
    };
    while (!(await isAnother()));
    await untilServed((served) => served.length === 3);

    const host = victim?.allocation.host ?? '';
    expect((await moorage('host', 'drain', host, '--wait')).code).toBe(0);
    await untilServed((served) => served.length === 3 && served.every((one) => one.host !== host));

    load.kill('SIGINT');
    const { stdout } = await loaded;
    render.kill('SIGTERM');
    await render.end;
    await proxy.stop();
    expect(stdout).toMatch(/\d{3,} requests in/);
    expect(stdout).not.toMatch(/Socket errors|Non-2xx/);
    // What is served is told in the file too: the last of it is what the name says.
    const written = readFileSync(join(folder.path, 'upstream.conf'), 'utf8');
    for (const { address, port } of await endpoints())
      expect(written).toContain(`${address}:${String(port)} `);
  });
});
