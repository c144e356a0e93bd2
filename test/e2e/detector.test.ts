import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { JobStatus } from '../../src/wire/api/monitor-api.ts';
import type { VerdictsAnswer } from '../../src/wire/verdicts/verdicts.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { describeNeeding, root } from '../support/needs.ts';
import { mountSmallDisk } from '../support/small-disk.ts';
import { ONE_OF_EACH, runCli, startDevCell, testFolder } from '../support/cli.ts';
import { until } from '../support/until.ts';

const folder = testFolder();
const HOSTS = 6;
const BAD_HOST = 'host-6';
const WAIT = { timeout: 120_000, interval: 500 };
let cell: DevCellProcess;

const moorage = (...args: readonly string[]) => runCli(args, { cwd: folder.path });

async function run(name: string, command: string, more: object = {}): Promise<void> {
  const file = join(folder.path, `${name}.yaml`);
  const job = { name, type: 'service', count: HOSTS, distinct: ['host'], script: command, ...more };
  writeFileSync(file, JSON.stringify({ resources: { cpu: '20m', memory: '16Mi' }, ...job }));
  expect((await moorage('run', '-d', file)).stderr).toBe('');
}

/** Instances of version 2. */
async function newOf(job: string): Promise<number> {
  const { stdout } = await moorage('status', job, '-o', 'json');
  const { allocations } = JSON.parse(stdout) as JobStatus;
  return allocations.filter(({ allocation }) => allocation.jobVersion === 2).length;
}

async function verdicts(): Promise<readonly string[]> {
  const { stdout } = await moorage('verdicts', '-o', 'json');
  return (JSON.parse(stdout) as VerdictsAnswer).verdicts.map(({ suspect }) => suspect);
}

let disk: Disposable | undefined;

beforeAll(async () => {
  // Nothing can be executed in the folders of its tasks.
  const state = join(folder.path, '.moorage', 'cells', 'dev', 'hosts', BAD_HOST);
  if (root() === null) disk = mountSmallDisk(state, 256, ['noexec']);
  cell = await startDevCell(folder.path, [
    ...ONE_OF_EACH,
    ...['--hosts', String(HOSTS), '--schedulers', 'service,batch'],
  ]);
});
afterAll(async () => {
  try {
    expect((await cell.stop()).code).toBe(0);
  } finally {
    disk?.[Symbol.dispose]();
    folder[Symbol.dispose]();
  }
});

describe('who is at fault, on real processes', () => {
  it('S3.19 S3.20 S3.21 a version that crashes wherever it lands is found beside a good update, and the last good one comes back', async () => {
    for (const name of ['web', 'api', 'queue']) await run(name, 'sleep 3600');
    for (const name of ['web', 'api', 'queue'])
      expect((await moorage('wait', name, '--for', 'running', '--timeout', '100s')).code).toBe(0);
    await run('api', 'sleep 3601', { update: { parallelism: 1 } });
    // Its first new instance has been up for `minHealthy` by then, and so has all of web: version 1 is known as good.
    await vi.waitFor(async () => expect(await newOf('api')).toBeGreaterThan(1), WAIT);
    await run('web', 'sleep 5; exit 3', {
      update: { parallelism: 3 },
      restart: { attempts: 10, delay: '1s' },
    });
    await vi.waitFor(async () => expect(await verdicts()).toEqual(['revision/default/web/web/2']), WAIT);
    await vi.waitFor(async () => {
      expect((await moorage('verdicts')).stdout).not.toContain('refused');
      expect((await moorage('history', 'web')).stdout).toMatch(/3 .*current.*version 1 again/);
    }, WAIT);
    const events = (await moorage('events', '--since', '0')).stdout;
    expect(events).toContain('at-fault');
    expect((await moorage('why', 'web')).stdout).toMatch(/version 2/);
    expect((await moorage('wait', 'web', '--for', 'running', '--timeout', '100s')).code).toBe(0);
    expect((await moorage('wait', 'api', '--for', 'running', '--timeout', '100s')).code).toBe(0);
    expect((await moorage('check')).stdout).toContain('no violation of');
  });
});

describeNeeding(root(), 'a host on which exec fails', () => {
  it('S3.21 S3.25 it is quarantined, since what fails there is well elsewhere, and takes nothing more', async () => {
    const jobs = ['one', 'two', 'three', 'four'];
    for (const name of jobs)
      await run(name, 'cp "$(command -v sleep)" tool; exec ./tool 3600', {
        ...{ restart: { attempts: 1, delay: '1s' }, reschedule: { delay: '1s' } },
      });
    await until(
      async () => ({
        events: (await moorage('events', '--since', '0')).stdout,
        why: (await moorage('why', 'one')).stdout,
        verdicts: await verdicts(),
      }),
      ({ verdicts: found }) => found.includes(`host/${BAD_HOST}`),
      { limitMs: WAIT.timeout },
    );
    await vi.waitFor(
      async () => expect((await moorage('hosts')).stdout).toMatch(new RegExp(`${BAD_HOST} .*quarantined`)),
      WAIT,
    );
    for (const name of jobs)
      await vi.waitFor(
        async () =>
          expect((await moorage('why', name)).stdout).toMatch(new RegExp(`${BAD_HOST}.*quarantined`)),
        WAIT,
      );
    expect((await moorage('check')).stdout).toContain('no violation of');
  });
});
