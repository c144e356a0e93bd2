import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EXIT } from '../../../cli/command/exit.ts';
import { runCli } from '../../../cli/run-cli.ts';
import { FakeTerminal } from './fakes.ts';

/** A port that was free a moment ago, and that nobody listens at. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function cli(...args: string[]) {
  const terminal = new FakeTerminal();
  const code = await runCli(args, terminal, new AbortController().signal);
  return { code, ...terminal, stdout: terminal.stdout, stderr: terminal.stderr };
}

test('help lists the verbs and is no failure', async () => {
  const { code, stdout } = await cli('--help');
  expect(code).toBe(EXIT.ok);
  for (const verb of [
    'run',
    'validate',
    'ps',
    'why',
    'logs',
    'hosts',
    'events',
    'check',
    'restored',
    'replay',
    'agent',
    'hollow',
  ])
    expect(stdout).toMatch(new RegExp(`^  ${verb}\\b`, 'm'));
});

test.each([
  [['statsu'], /Did you mean status\?/],
  [['ps', '-o', 'xml'], /Allowed choices are table, wide, json, yaml, name/],
  [['-o', 'xml', 'ps'], /Allowed choices are table, wide, json, yaml, name/],
  [['-n', 'x', 'ps', '--', 'x'], /belong to: moorage run/],
  [['ps', '-n', 'Not_One'], /is no name of a namespace/],
  [['why'], /missing required argument/],
  [['run'], /name a job file, or a command behind --/],
  [['ps', '--', 'x'], /belong to: moorage run/],
  [['run', 'a.yaml', '--', 'x'], /too much for one run/],
  [['run', '--timeout', '2s', '--', 'x'], /--timeout is for a job file.*\nnext: moorage run --deadline/],
  [['run', '--logs', '--', 'x'], /--logs is for a job file/],
  [['run', '--cpu', '1', 'a.yaml'], /--cpu is for a command behind --.*\nnext: moorage explain job/],
  [['run', '-e', 'A=b', 'a.yaml'], /--env is for a command behind --/],
  [['restored'], /name the store: --etcd .*\nnext: moorage restored --etcd/],
  [['store', 'secure'], /name the store: --etcd .*\nnext: moorage store secure --etcd/],
  [
    ['store', 'secure', '--etcd', 'http://127.0.0.1:9'],
    /knows its users by their certificates: .*\nnext: moorage pki issue/,
  ],
  [['wait', 'a', '--timeout', 'x'], /--timeout: .*\nnext: moorage wait --help/],
  [['dev', '--name', 'A B'], /--name A B: use lower-case/],
  [['status', 'No_Such'], /is no name of a job/],
  [['status', ''], /is no name of a job/],
  [['replay', '/nowhere', '--pods', '0'], /a whole number from 1/],
  [['sim', 'replay', 'x'], /expected a whole number from 0/],
  [['sim', 'omega', '9', '--hours', '1', '--days', '1'], /cannot be used with/],
  [['explain', 'group.cuont'], /did you mean "count"\?/],
])('%j: usage, and what to type next', async (args, why) => {
  const { code, stderr } = await cli(...args);
  expect(code).toBe(EXIT.usage);
  expect(stderr).toMatch(why);
  expect(stderr).toMatch(/^next: moorage /m);
});

test('a job file that is not there, or is wrong, ends with 65', async () => {
  expect(await cli('validate', '/nowhere.yaml')).toMatchObject({ code: EXIT.badSpec });
  expect(await cli('run', '/nowhere.yaml')).toMatchObject({ code: EXIT.badSpec });
  expect(await cli('replay', '/nowhere')).toMatchObject({ code: EXIT.badSpec });
});

test('a file without an end, or that is no text, is refused and not swallowed', async () => {
  const endless = await cli('validate', '/dev/zero');
  expect(endless).toMatchObject({ code: EXIT.badSpec });
  expect(endless.stderr).toMatch(/larger than \d+ bytes/);
  const folder = mkdtempSync(join(tmpdir(), 'moorage text-'));
  try {
    const file = join(folder, 'job.yaml');
    writeFileSync(file, Buffer.from([0x6e, 0x3a, 0xe9, 0x0a]));
    expect((await cli('run', file)).stderr).toMatch(/no text in UTF-8\nnext: /);
    expect((await cli('run', folder)).stderr).toMatch(/it is a folder\nnext: /);
    writeFileSync(file, '['.repeat(5_000));
    const { code, stderr } = await cli('validate', file);
    expect(code).toBe(EXIT.badSpec);
    expect(stderr.split('\n').length).toBeLessThan(25);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test.each([
  ['before', (address: string) => ['--address', address, '-n', 'x', 'ps']],
  ['behind', (address: string) => ['ps', '-n', 'x', '--address', address]],
  [
    'on both sides, the one behind wins',
    (address: string) => ['--address', 'bad host', 'ps', '--address', address],
  ],
])('options of a verb may stand %s', async (_where, args) => {
  const address = `http://127.0.0.1:${String(await closedPort())}`;
  const { code, stderr } = await cli(...args(address));
  expect(stderr).toContain(`cannot reach the monitor at ${address} (from --address)`);
  expect(code).toBe(EXIT.unreachable);
});

test('an interrupt ends a command that waits for its input', async () => {
  const interrupt = new AbortController();
  const terminal = new FakeTerminal();
  const running = runCli(['run', '-'], terminal, interrupt.signal);
  interrupt.abort();
  expect(await running).toBe(EXIT.signalBase + 2);
  process.stdin.destroy();
});

test('a cell that is not there ends with 4', async () => {
  const { code, stderr } = await cli('ps', '--address', `http://127.0.0.1:${String(await closedPort())}`);
  expect(code).toBe(EXIT.unreachable);
  expect(stderr).toMatch(/cannot reach the monitor at http:\/\/127\.0\.0\.1:/);
  expect(stderr).toMatch(/^next: moorage dev/m);
});

test('explain shows a field, and the whole schema as JSON', async () => {
  expect((await cli('explain', 'group.count')).stdout).toMatch(/1 to 100000/);
  const schema = JSON.parse((await cli('explain', 'job', '-o', 'json')).stdout) as { title: string };
  expect(schema.title).toBe('Moorage job');
});
