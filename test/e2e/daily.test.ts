import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nodeClient } from '../../src/adapters/http/node-client.ts';
import { openCredentials } from '../../src/adapters/pki/credentials.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { CLI, ONE_OF_EACH, ended, runCli, startCli, startDevCell, testFolder } from '../support/cli.ts';

/** What people meet every day, on one small cell of real processes. */
const folder = testFolder();
let cell: DevCellProcess;

beforeAll(async () => {
  cell = await startDevCell(folder.path, [
    ...ONE_OF_EACH,
    '--monitors',
    '2',
    '--schedulers',
    'service,batch',
  ]);
});

afterAll(async () => {
  const ended = await cell.stop();
  folder[Symbol.dispose]();
  expect(ended.code).toBe(0);
});

const moorage = (...args: string[]) => runCli(args, { cwd: folder.path });
const monitor = (): string => cell.file.monitors[0] ?? '';

describe('one-off runs through the API', () => {
  it('without a type it runs once and ends; another type is refused', async () => {
    const http = nodeClient(openCredentials(cell.file.credentials ?? '', null));
    const timeoutMs = 60_000;
    const post = (body: unknown) => {
      const headers = { 'idempotency-key': crypto.randomUUID() };
      return http.call({ method: 'POST', url: `${monitor()}/v1/runs`, headers, body, timeoutMs });
    };
    const made = await post({ name: 'untyped', command: ['true'] });
    const { job } = made.body as { job: string };
    const url = `${monitor()}/v1/jobs/default/${job}/exit?waitMs=30000`;
    const exit = await http.call({ method: 'GET', url, timeoutMs });
    expect(exit.body).toMatchObject({ state: 'complete', exit: { code: 0 } });
    const refused = await post({ name: 'typed', type: 'service', command: ['true'] });
    expect(refused).toMatchObject({ status: 400, body: { path: 'type', code: 'bad-job' } });
    await http.close();
  });
});

describe('names', () => {
  it('every verb finds a run by its given name and says which one it is', async () => {
    const made = await moorage('run', '-d', '--name', 'later', '--', 'sh', '-c', 'echo here; sleep 600');
    const full = made.stdout.trim();
    expect(full).toMatch(/^later-[0-9a-z]{8}$/);
    expect((await moorage('wait', 'later', '--for', 'running')).stdout).toBe('running\n');
    const said = `moorage: "later" is ${full}\n`;
    for (const verb of ['status', 'why', 'ps', 'top']) {
      const { code, stderr } = await moorage(verb, 'later');
      expect({ verb, code, stderr }).toEqual({ verb, code: 0, stderr: said });
    }
    expect((await moorage('exec', 'later', '--', 'echo', 'inside')).stdout).toBe('inside\n');
    const { stdout: id } = await moorage('ps', 'later', '-o', 'name');
    expect((await moorage('logs', id.trim())).stdout).toBe('here\n');
    expect((await moorage('exec', id.trim().slice(0, 20), '--', 'echo', 'same')).stdout).toBe('same\n');
    expect(await moorage('stop', 'later', '-w')).toMatchObject({ code: 0, stderr: said });
    expect(await moorage('wait', 'later')).toMatchObject({ code: 0, stdout: 'stopped\n', stderr: said });
  });

  it.each([['wait'], ['stop'], ['logs'], ['status'], ['why'], ['exec'], ['ps'], ['attach']])(
    '%s of a name of nothing is an error at once, with the near name',
    async (verb) => {
      const rest = verb === 'exec' ? ['--', 'true'] : [];
      const { code, stderr } = await moorage(verb, 'latre', ...rest);
      expect(code).toBe(64);
      expect(stderr).toMatch(/there is no job "latre" in namespace "default"; did you mean "later"\?/);
    },
  );
});

describe('standard input of one-off runs', () => {
  const withInput = (input: string, ...args: string[]) => runCli(args, { cwd: folder.path, input });

  it('what is piped in is its input, and its end is passed on', async () => {
    expect(await withInput('abc\n', 'run', '--', 'cat')).toMatchObject({ code: 0, stdout: 'abc\n' });
    expect(await withInput('', 'run', '--', 'wc', '-c')).toMatchObject({ code: 0, stdout: '0\n' });
    expect(await withInput('abc', 'run', '--no-stdin', '--', 'wc', '-c')).toMatchObject({ stdout: '0\n' });
    expect(await withInput('a\nb\n', 'run', '--', 'head', '-n', '1')).toMatchObject({
      code: 0,
      stdout: 'a\n',
    });
    const file = join(folder.path, 'input');
    writeFileSync(file, 'from a file\n');
    const line = `'${process.execPath}' '${CLI}' run -- cat < input`;
    const fromFile = spawnSync('sh', ['-c', line], { cwd: folder.path, encoding: 'utf8' });
    expect(fromFile).toMatchObject({ status: 0, stdout: 'from a file\n', stderr: '' });
    const contrary = await withInput('abc', 'run', '-d', '-i', '--', 'cat');
    expect(contrary).toMatchObject({ code: 64, stderr: expect.stringContaining('--detach') as string });
  });

  it('/dev/null is no input', () => {
    const input = openSync('/dev/null', 'r');
    const args = [CLI, 'run', '--', 'sh', '-c', 'readlink /proc/self/fd/0'];
    const run = spawnSync(process.execPath, args, { cwd: folder.path, stdio: [input, 'pipe', 'pipe'] });
    closeSync(input);
    expect(run.stdout.toString()).toBe('/dev/null\n');
  });

  it('-it gives it a terminal, into which what is piped in is typed', async () => {
    const run = await withInput(
      'hello\n',
      'run',
      '-it',
      '--',
      'sh',
      '-c',
      'test -t 0 && read line && echo "got $line"',
    );
    expect(run).toMatchObject({ code: 0, stdout: 'hello\r\ngot hello\r\n' });
  });

  it('100 MB arrive once and in order, though a monitor and the agent are killed on the way', async () => {
    const MIB = 1024 * 1024;
    const block = Buffer.alloc(MIB);
    for (let at = 0; at < MIB; at += 4) block.writeUInt32LE(at * 4_093, at);
    const sum = createHash('sha256');
    const child = spawn(process.execPath, [CLI, 'run', '--', 'sh', '-c', 'sleep 1; sha256sum'], {
      cwd: folder.path,
    });
    const end = ended(child);
    const killed: Promise<void>[] = [];
    for (let sent = 0; sent < 100; sent++) {
      block.writeUInt32LE(sent, 0);
      sum.update(block);
      if (!child.stdin.write(Buffer.from(block)))
        await new Promise((resolve) => child.stdin.once('drain', resolve));
      // Sent is not arrived: a slow reader would have taken nothing yet, and the client holds little.
      for (const name of sent === 30 ? ['monitor-1'] : sent === 60 ? ['host-1', 'monitor-2'] : []) {
        process.kill(pidOf(name), 'SIGKILL');
        killed.push(cell.says(new RegExp(`${name} is up again`)));
      }
    }
    child.stdin.end();
    expect(await end).toMatchObject({ code: 0, stdout: `${sum.digest('hex')}  -\n` });
    await Promise.all(killed);
  });
});

/** As the cell printed them: `processes: arbiter-1 123, host-1 124, ...`. */
function pidOf(name: string): number {
  const pid = new RegExp(`processes:.*\\b${name} (\\d+)`).exec(cell.output())?.[1];
  if (pid === undefined) throw new Error(`no pid of ${name} in:\n${cell.output()}`);
  return Number(pid);
}

function jobFile(name: string, job: Readonly<Record<string, unknown>>): string {
  const path = join(folder.path, `${name}.json`);
  writeFileSync(path, JSON.stringify({ name, ...job }));
  return path;
}

describe('what does not stay up, and what never fits', () => {
  it('a service that ends after each start is looping to run, ps and why', async () => {
    const restart = { attempts: 100, window: '1h', delay: '100ms' };
    const file = jobFile('crashes', { type: 'service', script: 'exit 3', restart });
    const run = await moorage('run', file);
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(/it loops: started again \d+ times, last exit 3/);
    const jobs = await moorage('ps');
    expect(jobs.stdout).toMatch(/^crashes +service +50 +looping .* [1-9]\d* +\S+ +\S+$/m);
    const why = await moorage('why', 'crashes');
    expect(why.stdout).toMatch(
      /^crashes: looping: it ends soon after each start; started again \d+ times, last exit 3\n/,
    );
    const rows = await moorage('ps', 'crashes');
    expect(rows.stdout).toMatch(/^crashes\[0\] .* looping .* 3 /m);
    await moorage('stop', 'crashes', '-w');
  });

  it('a service that stays up is so after two seconds of it', async () => {
    const run = await moorage('run', jobFile('stays', { type: 'service', script: 'sleep 600' }));
    expect(run.code).toBe(0);
    expect(run.stderr).not.toMatch(/started again/);
    await moorage('stop', 'stays', '-w');
  });

  it('a gang that the cell can never hold: how many fit at once, and that it is capacity', async () => {
    const tasks = { t: { script: 'true', resources: { cpu: '1', memory: '16Mi' } } };
    const file = jobFile('large', { type: 'batch', groups: { g: { count: 20, gang: true, tasks } } });
    await moorage('run', '-d', file);
    for (;;) {
      const { stdout } = await moorage('why', 'large');
      if (!stdout.includes('parked')) continue;
      expect(stdout).toMatch(
        /^large: g: parked: this cell can never hold the gang: \d+ of 20 fit at once now, \d+ of 20 when nothing else runs \(capacity, not use\)\n/,
      );
      expect(stdout).toMatch(/^ {2}\d+ of 20 fit at once now, \d+ of 20 when nothing else runs$/m);
      break;
    }
    await moorage('stop', 'large', '-w');
  });
});

describe('runs once more, of many, and again when they fail', () => {
  it('--again runs what has ended once more, under a new id', async () => {
    const first = await moorage(
      'run',
      '-d',
      '--name',
      'repeat',
      '--env',
      'WHO=you',
      '--',
      'sh',
      '-c',
      'echo hello $WHO',
    );
    const name = first.stdout.trim();
    await moorage('wait', name);
    const again = await moorage('run', '--again', 'repeat');
    expect(again).toMatchObject({ code: 0, stdout: 'hello you\n' });
    const jobs = await moorage('ps', '-o', 'name');
    expect(jobs.stdout.match(/^repeat-[0-9a-z]{8}$/gm)).toHaveLength(2);
    const file = jobFile('by-file', { type: 'batch', script: 'echo from a file' });
    expect((await moorage('run', file)).code).toBe(0);
    expect(await moorage('run', '--again', 'by-file')).toMatchObject({ code: 0, stdout: 'from a file\n' });
  });

  it('--again refuses what has not ended, what never does, and flags that would change it', async () => {
    await moorage('run', '-d', '--name', 'endless', '--', 'sleep', '600');
    const early = await moorage('run', '--again', 'endless');
    expect(early.code).toBe(64);
    expect(early.stderr).toMatch(/has not ended: it is (pending|running)\nnext: moorage wait endless-/);
    const changed = await moorage('run', '--again', 'endless', '--cpu', '2');
    expect(changed.stderr).toMatch(/--cpu would change what ran/);
    await moorage('stop', 'endless', '-w');
    const file = jobFile('serves', { type: 'service', script: 'sleep 600' });
    await moorage('run', '-d', file);
    expect((await moorage('run', '--again', 'serves')).stderr).toMatch(
      /serves is a service job, which does not end/,
    );
    await moorage('stop', 'serves', '-w');
  });

  it('--array runs the command once for each index, and fails when one of them does', async () => {
    const script = 'echo "part $MOORAGE_ARRAY_INDEX"; test "$MOORAGE_ARRAY_INDEX" -lt 9';
    const run = await moorage(
      'run',
      '--name',
      'parts',
      '--cpu',
      '10m',
      '--array',
      '4-8',
      '--',
      'sh',
      '-c',
      script,
    );
    expect(run.code).toBe(0);
    const said = run.stdout.split('\n').map((line) => line.replace(/^\S+ /, ''));
    expect(said.sort().join()).toBe(',part 4,part 5,part 6,part 7,part 8');
    const failed = await moorage('run', '--cpu', '10m', '--array', '8-9', '--', 'sh', '-c', script);
    expect(failed.code).toBe(1);
    expect((await moorage('run', '--array', '9-8', '--', 'true')).stderr).toMatch(
      /--array 9-8: write it as 1-100/,
    );
  });

  it('--retries starts a command again until it does not fail, and no more often', async () => {
    const count = 'n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n > n; echo try $n';
    const twice = await moorage(
      'run',
      '--no-stdin',
      '--retries',
      '3',
      '--',
      'sh',
      '-c',
      `${count}; test $n -ge 3`,
    );
    expect(twice).toMatchObject({ code: 0, stdout: 'try 1\ntry 2\ntry 3\n' });
    const never = await moorage('run', '--no-stdin', '--retries', '1', '--', 'sh', '-c', `${count}; exit 5`);
    expect(never).toMatchObject({ code: 5, stdout: 'try 1\ntry 2\n' });
    const piped = await runCli(['run', '--retries', '1', '--', 'cat'], { cwd: folder.path, input: 'x' });
    expect(piped.stderr).toMatch(/what is piped in can be read once/);
  });

  it('-o json is the answer of the API, also of a run', async () => {
    const run = await moorage('run', '-d', '-o', 'json', '--name', 'json', '--', 'true');
    expect(JSON.parse(run.stdout)).toEqual({
      ...{ namespace: 'default', created: true },
      job: expect.stringMatching(/^json-[0-9a-z]{8}$/) as string,
    });
  });
});

it('a role whose store is away says so in one line, not in one for each try', async () => {
  using elsewhere = testFolder();
  await runCli(['keys', 'keys'], { cwd: elsewhere.path });
  let tries = 0;
  let onTry = (): void => undefined;
  const nobody = createServer((socket) => {
    tries += 1;
    socket.resetAndDestroy();
    onTry();
  });
  await new Promise<void>((resolve) => nobody.listen(0, '127.0.0.1', resolve));
  const store = `http://127.0.0.1:${String((nobody.address() as AddressInfo).port)}`;
  const flags = ['--etcd', store, '--keys', 'keys', '--data', 'data', '--listen', '127.0.0.1:0'];
  const agent = startCli(['agent', '--id', 'h1', ...flags], { cwd: elsewhere.path });
  await agent.says('cannot register');
  const first = tries;
  while (tries < first + 3) await new Promise<void>((resolve) => (onTry = resolve));
  agent.kill('SIGTERM');
  const { stderr } = await agent.end;
  nobody.close();
  const lines = stderr.split('\n').filter((line) => line.includes('cannot register'));
  expect(lines).toHaveLength(1);
  expect(lines[0]?.length).toBeLessThan(600);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    ...{ level: 'warn', since: expect.any(String) as string, nextTry: expect.any(String) as string },
    error: expect.stringMatching(/^unavailable: /) as string,
  });
});

describe('doctor', () => {
  it('finds what a cell needs, and names what is missing and the remedy', async () => {
    const here = await moorage('doctor', '-o', 'json');
    const { ok, checks } = JSON.parse(here.stdout) as {
      ok: boolean;
      checks: { name: string; state: string }[];
    };
    expect({ ok, code: here.code }).toEqual({ ok: true, code: 0 });
    const names = 'node,kernel,etcd,ports,clock,rights,cgroups,shim,user: root,sandbox,oci';
    expect(checks.map(({ name }) => name).join()).toBe(names);
    using elsewhere = testFolder();
    // Whoever runs the tests may have named an etcd.
    const env = { PATH: '/nowhere', MOORAGE_ETCD: '', MOORAGE_ADDR: 'http://127.0.0.1:1' };
    const bare = await runCli(['doctor'], { cwd: elsewhere.path, env });
    expect(bare.code).toBe(1);
    expect(bare.stdout).toMatch(/^etcd +missing +none is found$/m);
    expect(bare.stdout).toMatch(/^etcd: apt-get install etcd-server/m);
  });
});

describe('on a terminal and in a pipe', () => {
  it('events -f | head -1 ends with head, though no further event comes', () => {
    // The end of what is held, and nothing after it: without a look at the reader this would wait for ever.
    const line = '"$0" "$1" events -f --since 0 | head -n 1';
    const run = spawnSync('sh', ['-c', line, process.execPath, CLI], { cwd: folder.path, encoding: 'utf8' });
    expect(run.stdout.split('\n')).toHaveLength(2);
    expect(run.stderr).toBe('');
  });

  it('at 40 columns each job and allocation has one line', async () => {
    await moorage('run', jobFile('a-job-with-a-name-that-is-long', { type: 'service', script: 'sleep 600' }));
    for (const words of ['ps', 'ps a-job', 'hosts', 'status a-job', 'schedulers']) {
      const line = `stty columns 40; '${process.execPath}' '${CLI}' ${words}`;
      const shown = spawnSync('script', ['-qfec', line, '/dev/null'], { cwd: folder.path, encoding: 'utf8' });
      const table = shown.stdout
        .split('\r\n')
        .filter((text) => /^[A-Z]{2}|^a-job[^ :]* .*running|^host-1/.test(text));
      expect(table.length).toBeGreaterThan(0);
      for (const text of table) expect(text.length).toBeLessThanOrEqual(40);
    }
    await moorage('stop', 'a-job', '-w');
  });
});
