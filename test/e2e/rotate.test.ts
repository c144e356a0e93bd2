import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { etcdClient } from '../../src/adapters/etcd/client/client.ts';
import { undiciClient } from '../../src/adapters/http/client.ts';
import { AuthorityFolder } from '../../src/adapters/pki/authority-folder.ts';
import { openCredentials } from '../../src/adapters/pki/credentials.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { ONE_OF_EACH, runCli, startDevCell, testFolder } from '../support/cli.ts';

const folder = testFolder();
const cellFolder = join(folder.path, '.moorage', 'cells', 'dev');
const pki = join(cellFolder, 'pki');
let cell: DevCellProcess;

beforeAll(async () => {
  cell = await startDevCell(folder.path, ONE_OF_EACH);
});
afterAll(async () => {
  const ended = await cell.stop();
  folder[Symbol.dispose]();
  expect(ended.code).toBe(0);
});

const moorage = (...args: string[]) => runCli(args, { cwd: folder.path });

/** How often each role has said that it took other credentials. */
function renewals(): Readonly<Record<string, number>> {
  const names = readdirSync(join(cellFolder, 'logs')).filter((name) => name.endsWith('.log'));
  const count = (name: string): number =>
    readFileSync(join(cellFolder, 'logs', name), 'utf8').split('the credentials were renewed').length - 1;
  return Object.fromEntries(names.map((name) => [name, count(name)]));
}

/** Makes the next step. @returns when every role has taken what it changed */
async function step(): Promise<string> {
  const before = renewals();
  const { code, stderr } = await moorage('pki', 'rotate', pki);
  expect(code, stderr).toBe(0);
  while (Object.entries(renewals()).some(([name, count]) => count <= (before[name] ?? 0))) await pause(100);
  return stderr;
}

async function runs(text: string): Promise<void> {
  const run = await moorage('run', '--', 'echo', text);
  expect(run, run.stderr).toMatchObject({ code: 0, stdout: `${text}\n` });
}

it('I65 S4.13 another authority takes the place of the first without a stop, and what the first issues is refused then', async () => {
  await moorage('run', '--detach', '--name', 'long', '--', 'sleep', '1000');
  const [first] = (await moorage('ps', '-o', 'name')).stdout.split('\n');
  const pids = /^processes: .*$/m.exec(cell.output())?.[0] ?? '';
  const old = join(folder.path, 'old');
  cpSync(pki, old, { recursive: true });
  const stolen = await new AuthorityFolder(old).issue(
    { role: 'operator', id: 'thief' },
    { nowMs: Date.now(), ttlMs: 3_600_000, hosts: [] },
  );

  expect(await step()).toContain('is trusted beside the old one');
  await cell.says(/(etcd is up again after [^]*){1}/);
  await runs('beside');
  expect(await step()).toContain('has issued all certificates anew');
  await runs('renewed');
  // Who has the folder of the first step, and not yet that of the second, is let in.
  cpSync(join(pki, 'issued', 'operator-dev', 'ca.pem'), join(stolen.folder, 'ca.pem'));
  expect(await answers(stolen.folder)).toEqual(['monitor', 'etcd']);
  expect(await step()).toContain('is dropped');
  await cell.says(/(etcd is up again after [^]*){2}/);
  await runs('dropped');

  // Its holder trusts the new authority, so that the cell is who refuses.
  cpSync(join(pki, 'ca.pem'), join(stolen.folder, 'ca.pem'));
  expect(await answers(stolen.folder)).toEqual([]);
  expect((await moorage('ps', '-o', 'name')).stdout.split('\n')).toContain(first);
  for (const [, pid] of pids.matchAll(/(?<!etcd) (\d+)/g))
    expect(() => process.kill(Number(pid), 0)).not.toThrow();
  expect((await moorage('check')).stdout).toContain('no violation');
});

/** Which of them take the certificate. */
async function answers(credentialsFolder: string): Promise<readonly string[]> {
  const credentials = openCredentials(credentialsFolder, null);
  const http = undiciClient({ credentials });
  const url = `${cell.file.monitors[0] ?? ''}/livez`;
  const monitor = await http.call({ method: 'GET', url, timeoutMs: 10_000 }).then(
    ({ status }) => (status === 200 ? ['monitor'] : []),
    () => [],
  );
  await http.close();
  const client = etcdClient({ endpoints: cell.file.etcd, credentials });
  const etcd = await client.maintenance.status().then(
    () => ['etcd'],
    () => [],
  );
  client.close();
  return [...monitor, ...etcd];
}
