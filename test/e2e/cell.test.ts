import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nodeClient } from '../../src/adapters/http/node-client.ts';
import { openCredentials } from '../../src/adapters/pki/credentials.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { CLI, runCli, startDevCell, testFolder } from '../support/cli.ts';
import { until } from '../support/until.ts';

/** One development cell of real processes for the whole file; each test uses jobs of its own. */
const folder = testFolder();
let cell: DevCellProcess;

beforeAll(async () => {
  cell = await startDevCell(folder.path);
});

afterAll(async () => {
  const ended = await cell.stop();
  folder[Symbol.dispose]();
  expect(ended.code).toBe(0);
});

const moorage = (...args: string[]) => runCli(args, { cwd: folder.path });

function jobFile(name: string, text: string): string {
  const path = join(folder.path, name);
  writeFileSync(path, text);
  return path;
}

describe('one-off runs', () => {
  it('S4.23 streams the output and returns the exit code of the child', async () => {
    const run = await moorage('run', '--', 'sh', '-c', 'echo hello from $(hostname); exit 7');
    expect(run.stdout).toBe(`hello from ${hostname()}\n`);
    expect(run.code).toBe(7);
  });

  it('I28 gives every byte of both streams, once and in order', async () => {
    const script = 'i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; echo done >&2';
    const run = await moorage('run', '--', 'sh', '-c', script);
    const wanted = Array.from({ length: 20_000 }, (_, n) => `line ${String(n)}\n`).join('');
    expect(run.stdout === wanted).toBe(true);
    expect(run.stderr).toContain('done\n');
    expect(run.code).toBe(0);
  });

  it('says that a command does not exist, and does not call it exit 127', async () => {
    const run = await moorage('run', '--', '/no/such/command');
    expect(run.stderr).toContain('/no/such/command');
    expect(run.code).not.toBe(0);
  });

  it('I24 says after --wait-max that no host can take it, and exits with 2', async () => {
    const run = await moorage('run', '--cpu', '64', '--wait-max', '8s', '--', 'true');
    expect(run.code).toBe(2);
    expect(run.stderr).toMatch(/cpu/);
  });
});

describe('jobs', () => {
  it('runs a batch job of many allocations to its end, and keeps the outputs and outcomes', async () => {
    const file = jobFile(
      'batch.yaml',
      'name: numbers\ntype: batch\ngroups:\n  work:\n    count: 12\n    tasks:\n      print:\n        script: echo "number $ALLOC_INDEX"\n        resources: { cpu: 200m, memory: 32Mi }\n',
    );
    const run = await moorage('run', file);
    expect(run.stderr + run.stdout).toMatch(/complete/);
    expect(run.code).toBe(0);
    const logs = await moorage('logs', 'numbers');
    for (let n = 0; n < 12; n++) expect(logs.stdout).toContain(`number ${String(n)}`);
  });

  it('exits with 1 when the job fails', async () => {
    const file = jobFile(
      'failing.yaml',
      'name: failing\ntype: batch\nrestart: { attempts: 0, window: 1h, delay: 1s }\nreschedule: { attempts: 0, delay: 1s }\nscript: exit 3\n',
    );
    const run = await moorage('run', file);
    expect(run.code).toBe(1);
  });

  it('names each host and what it lacks when a job fits nowhere', async () => {
    const file = jobFile(
      'huge.yaml',
      'name: huge\ntype: batch\ncommand: ["true"]\nresources: { cpu: "64", memory: 64Mi }\n',
    );
    const submitted = await moorage('run', '--detach', file);
    expect(submitted.code).toBe(0);
    const why = await until(
      () => moorage('why', 'huge'),
      (result) => /host-3/.test(result.stdout),
    );
    for (const host of ['host-1', 'host-2', 'host-3']) expect(why.stdout).toContain(host);
    expect(why.stdout).toMatch(/cpu/);
    expect((await moorage('stop', 'huge')).code).toBe(0);
  });
});

describe('what people ask next', () => {
  it('a job that ended has nothing to explain, and the same file does not run it again in silence', async () => {
    const file = jobFile('ended.yaml', 'name: ended-job\ntype: batch\nscript: echo done\n');
    expect((await moorage('run', file)).code).toBe(0);
    expect((await moorage('why', 'ended-job')).stdout).toBe('ended-job: complete: nothing to explain\n');
    const again = await moorage('run', file);
    expect(again.stderr).toMatch(/has ended already \(complete, version 1\)/);
    expect(again.code).toBe(0);
    const named = await moorage('-o', 'name', 'status', 'ended');
    expect(named.stdout).toBe('ended-job\n');
  });

  it('logs of many allocations warn of nothing, and end quietly behind a pipe that closed', async () => {
    const file = jobFile(
      'many.yaml',
      'name: many\ntype: batch\ngroups:\n  g:\n    count: 16\n    tasks:\n      t:\n        script: i=0; while [ $i -lt 500 ]; do echo $i; i=$((i+1)); done\n        resources: { cpu: 100m, memory: 16Mi }\n',
    );
    expect((await moorage('run', file)).code).toBe(0);
    const logs = await moorage('logs', 'many');
    expect(logs.stderr).toBe('');
    expect(logs.stdout.split('\n')).toHaveLength(16 * 500 + 1);
    const head = spawnSync('sh', ['-c', '"$0" "$1" logs many | head -n 1', process.execPath, CLI], {
      cwd: folder.path,
      encoding: 'utf8',
    });
    expect(head.stdout).toMatch(/^many\.g\[\d+\] 0\n$/);
    expect(head.stderr).toBe('');
    expect((await moorage('logs', 'many.g[3]')).stdout.split('\n')).toHaveLength(501);
    const missing = await moorage('logs', 'many', '--task', 'zzz');
    expect(missing.stderr).toMatch(/has no task "zzz": t/);
    expect(missing.code).toBe(64);
  });

  it('serves the schema of job files, and says which limits hosts do not enforce', async () => {
    const [monitor = ''] = cell.file.monitors;
    const http = nodeClient(openCredentials(cell.file.credentials ?? '', null));
    const url = `${monitor}/v1/schema/job.json`;
    const schema = await http.call({ method: 'GET', url, timeoutMs: 60_000 });
    await http.close();
    expect(schema.body).toMatchObject({ title: 'Moorage job' });
    expect((await moorage('-o', 'wide', 'hosts')).stdout).toMatch(/NOT-ENFORCED/);
  });

  it.each([
    ['a command that follows', ['events', '-f', '--since', '0'], 0],
    ['a one-off run, which is stopped', ['run', '--', 'sh', '-c', 'echo up; exec sleep 100'], 143],
  ])('one Ctrl-C ends %s', async (_what, args, code) => {
    const child = spawn(process.execPath, [CLI, ...args], { cwd: folder.path });
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.stdout.once('data', () => child.kill('SIGINT'));
    child.stdout.resume();
    expect(await ended).toBe(code);
  });
});

describe('bad input', () => {
  const bad: [string, string, RegExp][] = [
    [
      'an unknown field',
      'name: bad\ntype: batch\ncommand: ["true"]\nreplicas: 3\n',
      /bad\.yaml:4:1: error: .*replicas.*count/s,
    ],
    [
      'a wrong unit',
      'name: bad\ncommand: ["true"]\nresources: { memory: 128m }\n',
      /bad\.yaml:3:\d+: error: .*128Mi/s,
    ],
    [
      'a zero count',
      'name: bad\ngroups: { a: { count: 0, tasks: { t: { command: ["true"] } } } }\n',
      /bad\.yaml:2:\d+: error: .*count/s,
    ],
    [
      'a negative amount',
      'name: bad\ncommand: ["true"]\nresources: { cpu: "-1" }\n',
      /bad\.yaml:3:\d+: error: .*cpu/s,
    ],
    [
      'a huge amount',
      'name: bad\ncommand: ["true"]\nresources: { memory: 99999999999Gi }\n',
      /bad\.yaml:3:\d+: error: .*memory/s,
    ],
    ['a duplicate key', 'name: bad\nname: worse\ncommand: ["true"]\n', /bad\.yaml:2:\d+: error/],
    ['no YAML at all', 'name: [bad\n', /bad\.yaml:\d+:\d+: error/],
  ];

  it.each(bad)('refuses %s with its place and the remedy, exit code 65', async (_what, text, message) => {
    const file = jobFile('bad.yaml', text);
    for (const verb of ['validate', 'run']) {
      const result = await moorage(verb, file);
      expect(result.stderr).toMatch(message);
      expect(result.code).toBe(65);
    }
    expect((await moorage('ps', '-o', 'name')).stdout).not.toMatch(/\bbad\b/);
  });

  it('exits with 64 for a verb that does not exist, and suggests one', async () => {
    const result = await moorage('statu');
    expect(result.stderr).toMatch(/status/);
    expect(result.code).toBe(64);
  });

  it('exits with 4 when no monitor answers, and says what to do', async () => {
    const result = await moorage('--address', 'http://127.0.0.1:9', 'ps');
    expect(result.stderr).toMatch(/moorage dev|--address/);
    expect(result.code).toBe(4);
  });
});
