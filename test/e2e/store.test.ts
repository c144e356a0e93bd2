import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { etcdClient } from '../../src/adapters/etcd/client/client.ts';
import { storeErrorOf } from '../../src/adapters/etcd/client/faults.ts';
import { findEtcd } from '../../src/adapters/etcd/server/find-etcd.ts';
import { openCredentials } from '../../src/adapters/pki/credentials.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { ONE_OF_EACH, runCli, startCli, startDevCell, testFolder } from '../support/cli.ts';

const folder = testFolder();
/** While this file is there, no etcd starts. */
const hold = join(folder.path, 'hold');
let cell: DevCellProcess;

beforeAll(async () => {
  const { path } = await findEtcd({ env: process.env });
  const etcd = join(folder.path, 'etcd.sh');
  writeFileSync(etcd, `#!/bin/sh\nwhile [ -e '${hold}' ]; do sleep 0.05; done\nexec '${path}' "$@"\n`);
  chmodSync(etcd, 0o755);
  cell = await startDevCell(folder.path, ONE_OF_EACH, { MOORAGE_ETCD: etcd });
});

afterAll(async () => {
  rmSync(hold, { force: true });
  const ended = await cell.stop();
  folder[Symbol.dispose]();
  expect(ended.code).toBe(0);
});

const moorage = (...args: string[]) => runCli(args, { cwd: folder.path });

it('S3.50 etcd killed with -9 comes back on its ports and its data, the screen says so, and a one-off run of that moment waits and succeeds', async () => {
  expect((await moorage('run', '--name', 'before', '--', 'true')).code).toBe(0);
  // The second time it is the process that was started again which dies.
  for (const time of [1, 2]) {
    writeFileSync(hold, '');
    process.kill(pidOfEtcd(), 'SIGKILL');
    await cell.says(new RegExp(`(etcd ended \\(SIGKILL\\)[^]*){${String(time)}}`));
    const run = startCli(['run', '--', 'sh', '-c', 'echo there; exit 3'], { cwd: folder.path });
    await run.says('the store cannot be written now; nothing was changed; trying again');
    rmSync(hold);
    await cell.says(new RegExp(`(etcd is up again after [^]*){${String(time)}}`));
    expect(await run.end).toMatchObject({ stdout: 'there\n', code: 3 });
  }
  // Asked at the address that the cell wrote down at its start.
  const checked = await moorage('check');
  expect(checked.stdout).toContain('no violation');
  expect((await moorage('ps', '-o', 'name')).stdout).toMatch(/^before-/m);
});

it('I65 S4.13 the store of a development cell lets a role write what is its own, and nothing else', async () => {
  const cellFolder = join(folder.path, '.moorage', 'cells', 'dev');
  const { etcd } = JSON.parse(readFileSync(join(cellFolder, 'cell.json'), 'utf8')) as { etcd: string[] };
  const put = async (who: string, key: string): Promise<string> => {
    const credentials = openCredentials(join(cellFolder, 'pki', 'issued', who), null);
    const client = etcdClient({ endpoints: etcd, credentials });
    const put = client.kv.put({ key: Buffer.from(key), value: Buffer.from('{}') });
    const fate = await put.then(
      () => 'written',
      (error: unknown) => storeErrorOf(error).code,
    );
    client.close();
    return fate;
  };
  expect(await put('scheduler-batch-1', '/moorage/dev/limits/quotas/team')).toBe('denied');
  expect(await put('agent-host-1', '/moorage/dev/ledger/host-1')).toBe('denied');
  expect(await put('arbiter-arbiter-1', '/moorage/dev.arbiters/test')).toBe('written');
});

/** As the cell printed it last: `etcd 123` at its start, then `as process 124`. */
function pidOfEtcd(): number {
  const pids = [
    ...cell.output().matchAll(/(?:processes: etcd|etcd is up again after .*, as process) (\d+)/g),
  ];
  const pid = pids.at(-1)?.[1];
  if (pid === undefined) throw new Error(`no pid of etcd in:\n${cell.output()}`);
  return Number(pid);
}
