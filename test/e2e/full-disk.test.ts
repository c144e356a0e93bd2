import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JobStatus } from '../../src/wire/api/monitor-api.ts';
import type { VerdictsAnswer } from '../../src/wire/verdicts/verdicts.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { ONE_OF_EACH, runCli, startDevCell, testFolder } from '../support/cli.ts';
import { runningOn } from '../support/eager-monitor.ts';
import { describeNeeding, root } from '../support/needs.ts';
import { fill, mountSmallDisk } from '../support/small-disk.ts';
import { until } from '../support/until.ts';

const HOSTS = 3;
/** A host starts nothing below 64 MiB. */
const DISK_MIB = 96;
const FULL = 'host-3';

describeNeeding(root(), 'a host of several whose disk is full', () => {
  const folder = testFolder();
  const state = join(folder.path, '.moorage', 'cells', 'dev', 'hosts', FULL);
  const filler = join(state, 'filler');
  let disk: Disposable;
  let cell: DevCellProcess;

  beforeAll(async () => {
    disk = mountSmallDisk(state, DISK_MIB);
    cell = await startDevCell(folder.path, [
      ...ONE_OF_EACH,
      ...['--hosts', String(HOSTS), '--schedulers', 'service,batch'],
    ]);
  });
  afterAll(async () => {
    try {
      expect((await cell.stop()).code).toBe(0);
    } finally {
      disk[Symbol.dispose]();
      folder[Symbol.dispose]();
    }
  });

  const moorage = (...args: readonly string[]) => runCli(args, { cwd: folder.path });
  const statusOf = async (job: string): Promise<JobStatus> =>
    JSON.parse((await moorage('status', job, '-o', 'json')).stdout) as JobStatus;

  /** An instance for each host: it goes where none of the others is. */
  async function submit(name: string, more: object = {}): Promise<void> {
    const file = join(folder.path, `${name}.yaml`);
    const job = { name, type: 'service', count: HOSTS, script: 'while date; do sleep 0.2; done' };
    const rest = { spread: [{ by: 'host' }], resources: { cpu: '20m', memory: '16Mi' }, ...more };
    writeFileSync(file, JSON.stringify({ ...job, ...rest }));
    expect((await moorage('run', '-d', file)).stderr).toBe('');
  }
  const allRun = (job: string): Promise<JobStatus> =>
    until(
      () => statusOf(job),
      (status) => runningOn(status).length === HOSTS,
    );
  const taskOn = ({ allocations }: JobStatus, host: string) =>
    allocations.find(({ allocation }) => allocation.host === host);

  it('I32 S4.29 S3.21 S3.26 refuses starts and says why, keeps what runs, is named, and takes work again when there is space', async () => {
    await submit('before');
    const before = taskOn(await allRun('before'), FULL);
    expect(before).toBeDefined();
    const kept = readdirSync(join(state, 'allocations'));

    fill(filler);
    await submit('elsewhere');
    expect(runningOn(await allRun('elsewhere'))).not.toContain(FULL);
    await submit('there', { count: 1, constraints: [`host.id == ${FULL}`] });
    const told = await until(
      async () => (await moorage('why', 'there')).stdout,
      (text) => text.includes('disk-full'),
    );
    expect(told).toContain('bytes are left on the disk of this host');

    rmSync(filler);
    await until(
      () => statusOf('there'),
      (status) => runningOn(status).includes(FULL),
    );

    fill(filler);
    for (const name of ['one', 'two', 'three']) await submit(name);
    for (const name of ['one', 'two', 'three']) expect(runningOn(await allRun(name))).not.toContain(FULL);
    const [verdict] = await until(
      async () => (JSON.parse((await moorage('verdicts', '-o', 'json')).stdout) as VerdictsAnswer).verdicts,
      ({ length }) => length > 0,
    );
    expect(verdict).toMatchObject({ suspect: `host/${FULL}` });
    expect(verdict?.evidence.reasons.join()).toContain('disk-full');
    await until(
      async () => (await moorage('hosts')).stdout,
      (text) => new RegExp(`${FULL} +quarantined`).test(text),
    );
    expect((await moorage('host', 'status', FULL)).stdout).toMatch(/at fault: .*disk-full/);

    // Nothing of what was refused is left there; what ran, runs on, and its host answers.
    const now = readdirSync(join(state, 'allocations'));
    expect(now.filter((id) => !kept.includes(id))).toHaveLength(1);
    expect(taskOn(await statusOf('before'), FULL)).toMatchObject({
      allocation: { id: before?.allocation.id },
      report: {
        state: 'running',
        restarts: 0,
        tasks: { before: { pid: before?.report?.tasks['before']?.pid } },
      },
    });
    expect((await moorage('logs', `before[${String(before?.allocation.index)}]`)).code).toBe(0);
    expect((await moorage('check')).stdout).toContain('no violation of');
  });
});
