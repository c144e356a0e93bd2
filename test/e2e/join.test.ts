import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CliProcess, CliResult, DevCellProcess } from '../support/cli.ts';
import { ONE_OF_EACH, runCli, startCli, startDevCell, testFolder } from '../support/cli.ts';
import { TestAuthority } from '../support/credentials.ts';

const folder = testFolder();
/** The machine that joins: it has no development cell in its folder, and no credentials. */
const machine = testFolder();
let cell: DevCellProcess;
const processes: CliProcess[] = [];

beforeAll(async () => {
  cell = await startDevCell(folder.path, ONE_OF_EACH);
  const data = join(folder.path, '.moorage', 'cells', cell.file.cell);
  const signer = startCli(['pki', 'sign', join(data, 'pki'), '--keys', join(data, 'keys')], {
    cwd: folder.path,
  });
  processes.push(signer);
  await signer.says('"ready":true');
});
afterAll(async () => {
  for (const { kill, end } of processes.reverse()) {
    kill('SIGTERM');
    await end;
  }
  await cell.stop();
  folder[Symbol.dispose]();
  machine[Symbol.dispose]();
});

const asOperator = (...args: string[]): Promise<CliResult> => runCli(args, { cwd: folder.path });
const there = (...args: string[]): Promise<CliResult> => runCli(args, { cwd: machine.path });

async function invite(host: string, ...more: string[]): Promise<string> {
  const made = await asOperator('host', 'invite', host, '--san', '127.0.0.1', ...more);
  expect(made.code, made.stderr).toBe(0);
  return made.stdout.trim();
}

it('S4.13 a machine joins with a token, and runs a task', async () => {
  const token = await invite('joined');
  const joining = await there('host', 'join', token, '--data', 'data', '--listen', '127.0.0.1:0');
  expect([joining.code, joining.stdout], joining.stderr).toEqual([0, 'moorage agent --data data\n']);
  const agent = startCli(['agent', '--data', 'data', '--stop-tasks-on-exit'], { cwd: machine.path });
  processes.push(agent);
  await agent.says('"ready":true');
  const run = await asOperator(
    ...['run', '--constraint', 'host.id == joined', '--', 'sh', '-c', 'echo "by $MOORAGE_HOST"'],
  );
  expect([run.code, run.stdout], run.stderr).toEqual([0, 'by joined\n']);
  expect((await asOperator('audit', '--target', 'joined')).stdout).toMatch(
    /invite[\s\S]*invitation\/\w+ +join/,
  );

  // The same token again, of a machine with another key.
  const again = await there('host', 'join', token, '--data', 'other');
  expect(again.code).toBe(4);
  expect(again.stderr).toMatch(/this token was used for joined at .*, with another key/);
  const twice = await there('host', 'join', token, '--data', 'data');
  expect([twice.code, twice.stderr]).toEqual([64, expect.stringContaining('is of the host joined')]);
});

it('S4.13 a token that has ended, is for another host, or is none, is refused with the reason', async () => {
  const ended = await there('host', 'join', await invite('late', '--for', '1ms'), '--data', 'late');
  expect([ended.code, ended.stderr]).toEqual([4, expect.stringContaining('this token for late ended at')]);
  const other = await there('host', 'join', await invite('one'), '--data', 'x', '--id', 'two');
  expect([other.code, other.stderr]).toEqual([64, expect.stringContaining('for the host one, not for two')]);
  const made = (await invite('one')).replace(/\.[0-9a-f]{64}\./, `.${'0'.repeat(64)}.`);
  const unknown = await there('host', 'join', made, '--data', 'x');
  expect([unknown.code, unknown.stderr]).toEqual([4, expect.stringContaining('knows nothing of this token')]);
  expect((await there('host', 'join', 'x', '--data', 'x')).code).toBe(64);
});

it('S4.13 who may join is listed, and an invitation that is taken back lets nobody in', async () => {
  const token = await invite('unwanted', '--for', '2h');
  const listed = await asOperator('host', 'invitations');
  expect(listed.stdout).toMatch(/unwanted\s+127\.0\.0\.1\s+open\s+operator\/\S+\s+20/);
  expect(listed.stdout).not.toContain(/[0-9a-f]{64}/.exec(token.slice(token.lastIndexOf('moorage')))?.[0]);
  const back = await asOperator('host', 'uninvite', 'unwanted');
  expect(back.code, back.stderr).toBe(0);
  expect((await asOperator('host', 'invitations')).stdout).not.toContain('unwanted');
  const refused = await there('host', 'join', token, '--data', 'unwanted');
  expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining('knows nothing of this token')]);
  const gone = await asOperator('host', 'uninvite', 'unwanted');
  expect([gone.code, gone.stderr]).toEqual([64, expect.stringContaining('there is no invitation unwanted')]);
  expect((await asOperator('audit', '--act', 'uninvite')).stdout).toContain(back.stdout.trim());
});

it('S4.13 whoever stands between, with another authority, learns nothing and is found out', async () => {
  const token = await invite('careful');
  using stranger = await TestAuthority.of(cell.file.cell);
  const identity = readFileSync(join(await stranger.issue('monitor', 'monitor-1'), 'identity.pem'), 'utf8');
  const ca = readFileSync(join(stranger.path, 'ca.pem'), 'utf8');
  let received = 0;
  const between = createServer({ key: identity, cert: identity + ca }, () => (received += 1));
  between.on('secureConnection', (socket) => socket.on('data', () => (received += 1)));
  await new Promise<void>((resolve) => between.listen(0, '127.0.0.1', resolve));
  const { port } = between.address() as AddressInfo;
  const misled = token.replace(/https:.*$/, `https://127.0.0.1:${String(port)}`);
  const refused = await there('host', 'join', misled, '--data', 'careful');
  between.close();
  expect([refused.code, received]).toEqual([4, 0]);
  expect(refused.stderr).toContain('is another one than the token names');
  expect(refused.stderr).toContain('nothing was sent to it');

  // The same when the token names another authority than that of the monitor that is there.
  const altered = token.replace(/^(moorage-join\.careful\.)../, (_, start: string) => `${start}00`);
  expect((await there('host', 'join', altered, '--data', 'careful')).stderr).toContain(
    'nothing was sent to it',
  );
  expect((await there('host', 'join', token, '--data', 'careful')).code).toBe(0);
});
