import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { EtcdCellStore } from '../../src/adapters/etcd/etcd.ts';
import { openCredentials } from '../../src/adapters/pki/credentials.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import { roleCodec } from '../../src/wire/records/records.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { runCli, startDevCell, testFolder } from '../support/cli.ts';
import { openFolder } from '../support/real-host.ts';

const ALLOWED = 4;
const RUNS = 24;
const KILLS = 2;
/** Between two looks at what tasks wrote. */
const LOOK_MS = 50;

const folder = testFolder();
const open = openFolder();
const witness = join(open.path, 'witness');
let cell: DevCellProcess;
let store: EtcdCellStore;

beforeAll(async () => {
  cell = await startDevCell(folder.path, ['--hosts', '1', '--monitors', '1', '--schedulers', 'batch']);
  const credentials = openCredentials(cell.file.credentials ?? '', null);
  store = new EtcdCellStore({ endpoints: cell.file.etcd, credentials, clock: systemClock, log: silentLog });
});
afterAll(async () => {
  await store.close();
  expect((await cell.stop()).code).toBe(0);
  open[Symbol.dispose]();
  folder[Symbol.dispose]();
});

const moorage = (...args: readonly string[]) => runCli(args, { cwd: folder.path });

/** What tasks wrote, in the order in which they did: `+` at their begin, `-` at their end. */
const marks = (): readonly string[] =>
  existsSync(witness) ? readFileSync(witness, 'utf8').trim().split('\n') : [];
const begun = (): number => marks().filter((mark) => mark === '+').length;

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(LOOK_MS);
}

async function keeper(): Promise<{ readonly id: string; readonly since: number } | null> {
  const key = cellKeys(cell.file.cell).quotaKeeper;
  const entry = (await store.read([key])).entries.get(key);
  return entry === undefined ? null : { id: roleCodec.decode(entry.value).id, since: entry.modRevision };
}

/** The process of a role of this cell. */
function pidOf(id: string): number | null {
  const wanted = [`\0--id\0${id}\0`, cell.file.etcd[0] ?? ''];
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      if (wanted.every((part) => line.includes(part))) return Number(pid);
    } catch {
      // It has ended meanwhile.
    }
  return null;
}

it('S4.18 I40 a keeper that is killed again and again holds no namespace up, and never more runs than its quota allows', async () => {
  expect((await moorage('quota', 'set', 'default', '--allocations', String(ALLOWED))).code).toBe(0);
  // Each task has a user of its own.
  const script = `umask 0; echo + >> '${witness}'; sleep 1; echo - >> '${witness}'`;
  const resources = { cpu: '50m', memory: '16Mi' };
  const job = { name: 'many', type: 'batch', count: RUNS, script, resources };
  writeFileSync(join(folder.path, 'many.yaml'), JSON.stringify(job));
  const run = moorage('run', join(folder.path, 'many.yaml'));
  let ended = false;
  void run.then(() => (ended = true));
  await until(() => ended || begun() > 0);
  for (let kills = 0; kills < KILLS; kills++) {
    const before = await keeper();
    const pid = before === null ? null : pidOf(before.id);
    if (before === null || pid === null) return expect.unreachable('no arbiter keeps the quotas');
    const already = begun();
    process.kill(pid, 'SIGKILL');
    await until(async () => ((await keeper())?.since ?? before.since) > before.since);
    await until(() => ended || begun() > already || begun() === RUNS);
  }
  expect(await run).toMatchObject({ code: 0 });
  expect(begun()).toBe(RUNS);
  let running = 0;
  let most = 0;
  for (const mark of marks()) {
    running += mark === '+' ? 1 : -1;
    most = Math.max(most, running);
  }
  expect(running).toBe(0);
  expect(most).toBeLessThanOrEqual(ALLOWED);
  expect((await moorage('check')).stdout).toContain('no violation of');
}, 300_000);
