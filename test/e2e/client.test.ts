import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestCell } from '../../src/connect/testing.ts';
import { startCell } from '../../src/connect/testing.ts';
import { connect } from '../../src/connect/connect.ts';
import type { CliResult } from '../support/cli.ts';
import { ended, PROJECT_ROOT, runCli } from '../support/cli.ts';
import { freePort } from '../support/free-port.ts';

describe('what other programs import', () => {
  let cell: TestCell;
  beforeAll(async () => {
    cell = await startCell();
  });
  afterAll(async () => {
    await cell.stop();
    expect(existsSync(cell.folder)).toBe(false);
  });

  const example = (file: string, ...args: readonly string[]) =>
    spawn(process.execPath, [join(PROJECT_ROOT, 'examples', 'client', file), ...args], { cwd: cell.folder });
  const run = (file: string, ...args: readonly string[]): Promise<CliResult> => ended(example(file, ...args));

  it('examples/client/run.mjs: the output of a command, and its exit code', async () => {
    const done = await run('run.mjs', 'sh', '-c', 'echo here; exit 7');
    expect(done).toMatchObject({ stdout: 'here\n', code: 7 });
    expect(done.stderr).toMatch(/^from-a-program-\w+ on host-1: failed/);
    expect(await run('run.mjs')).toMatchObject({ code: 64 });
  });

  it('examples/client/service.mjs: a service from its file to its end, and the problem when it is there already', async () => {
    const done = await run('service.mjs', 'shop');
    expect(done, done.stderr).toMatchObject({ code: 0, stderr: '' });
    const lines = done.stdout.trim().split('\n');
    expect(lines[0]).toBe('shop is there, version 1');
    expect(lines.at(-1)).toBe('shop is stopped');
    const again = await run('service.mjs', 'shop');
    expect(again).toMatchObject({ code: 1 });
    expect(again.stderr).toContain('shop');
  });

  it('examples/client/names.mjs: who serves a name, as it changes', async () => {
    const job = { namespace: 'default', job: 'api' };
    const child = example('names.mjs', 'http.api.api.default');
    const end = ended(child);
    let told = '';
    child.stdout.on('data', (chunk: Buffer) => (told += chunk.toString()));
    await cell.client.submit({
      name: 'api',
      type: 'service',
      ports: { http: 'auto' },
      command: ['sleep', '1000'],
    });
    const says = (text: RegExp) =>
      new Promise<void>((resolve) => {
        const look = (): void => (text.test(told) ? resolve() : undefined);
        child.stdout.on('data', look);
        look();
      });
    await says(/:\d+ on host-1\n/);
    await cell.client.stop(job);
    await says(/on host-1\nnobody\n$/);
    child.kill('SIGINT');
    await end;
  });

  it('connect: a token, or a cell that nobody knows, is refused before any monitor is called', async () => {
    await expect(connect({ token: 'x', cwd: cell.folder })).rejects.toThrow('known authority');
    await expect(connect({ address: 'http://[', cwd: cell.folder })).rejects.toThrow('is no address');
    await expect(connect({ context: 'nowhere', env: { HOME: cell.folder } })).rejects.toThrow('no context');
  });

  it('moorage health: who is ready, and who does not answer', async () => {
    const ask = (...args: readonly string[]) => runCli(['health', ...args], { cwd: cell.folder });
    const ready = await ask();
    expect(ready, ready.stderr).toMatchObject({ code: 0 });
    expect(ready.stdout).toMatch(/^https:\/\/127\.0\.0\.1:\d+: \[\+\]store ok/);
    const [monitor = ''] = cell.client.addresses;
    const away = `https://127.0.0.1:${String(await freePort())}`;
    const both = await ask('--live', monitor, away);
    expect(both).toMatchObject({ code: 4 });
    expect(both.stdout).toBe(`${monitor}: ok\n${away}: does not answer\n`);
  });

  it('moorage/schema is what monitors serve', async () => {
    const file = createRequire(join(PROJECT_ROOT, 'examples', 'client', 'run.mjs')).resolve('moorage/schema');
    const { jobJsonSchema } = await import('../../src/wire/job-file/json-schema.ts');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(JSON.parse(JSON.stringify(jobJsonSchema())));
  });
});
