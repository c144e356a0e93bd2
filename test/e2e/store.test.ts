import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findEtcd } from '../../src/adapters/etcd/server/find-etcd.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { runCli, startCli, startDevCell, testFolder } from '../support/cli.ts';

const folder = testFolder();
/** While this file is there, no etcd starts. */
const hold = join(folder.path, 'hold');
let cell: DevCellProcess;

beforeAll(async () => {
  const { path } = await findEtcd({ env: process.env });
  const etcd = join(folder.path, 'etcd.sh');
  writeFileSync(etcd, `#!/bin/sh\nwhile [ -e '${hold}' ]; do sleep 0.05; done\nexec '${path}' "$@"\n`);
  chmodSync(etcd, 0o755);
  cell = await startDevCell(folder.path, ['--hosts', '1', '--monitors', '1'], { MOORAGE_ETCD: etcd });
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

/** As the cell printed it last: `etcd 123` at its start, then `as process 124`. */
function pidOfEtcd(): number {
  const pids = [
    ...cell.output().matchAll(/(?:processes: etcd|etcd is up again after .*, as process) (\d+)/g),
  ];
  const pid = pids.at(-1)?.[1];
  if (pid === undefined) throw new Error(`no pid of etcd in:\n${cell.output()}`);
  return Number(pid);
}
