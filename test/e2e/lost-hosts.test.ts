import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HostListAnswer, JobStatus } from '../../src/wire/api/monitor-api.ts';
import type { CliProcess, DevCellProcess } from '../support/cli.ts';
import { ONE_OF_EACH, pidIn, runCli, startDevCell, testFolder } from '../support/cli.ts';
import { runningOn, startEagerMonitor } from '../support/eager-monitor.ts';
import { until } from '../support/until.ts';

const folder = testFolder();
const HOSTS = 6;
const COUNT = 6;
let cell: DevCellProcess;
/** It gives its verdicts earlier than the one of the cell: the test is about what follows, and not about their delay. */
let monitor: CliProcess;

const moorage = (...args: readonly string[]) => runCli(args, { cwd: folder.path });
const answer = async <T>(...args: readonly string[]): Promise<T> =>
  JSON.parse((await moorage(...args, '-o', 'json')).stdout) as T;
const statusOf = (job: string): Promise<JobStatus> => answer<JobStatus>('status', job);

beforeAll(async () => {
  cell = await startDevCell(folder.path, [
    ...ONE_OF_EACH,
    '--hosts',
    String(HOSTS),
    '--schedulers',
    'service,batch',
  ]);
  // Sessions of hosts that freeze together end up to a third of their TTL apart: nobody is declared lost in that time.
  const times = ['--lost-after', '5s', '--mass-loss-wait', '10s'];
  monitor = await startEagerMonitor(cell, times);
  await monitor.says('"ready"');
});

afterAll(async () => {
  monitor.kill('SIGTERM');
  await monitor.end;
  expect((await cell.stop()).code).toBe(0);
  folder[Symbol.dispose]();
});

const pidOf = (name: string): number => pidIn(cell, name);

async function submit(job: { readonly name: string; readonly [field: string]: unknown }): Promise<void> {
  const file = join(folder.path, `${job.name}.yaml`);
  writeFileSync(file, JSON.stringify(job));
  expect((await moorage('run', '-d', file)).stderr).toBe('');
}

/** Freezes the agents of two hosts that hold something of the job, and ends that in any case. */
async function whileFrozen(job: string, work: (frozen: readonly string[]) => Promise<void>): Promise<void> {
  const { allocations } = await until(
    () => statusOf(job),
    (status) => runningOn(status).length === COUNT,
  );
  const frozen = [...new Set(allocations.map(({ allocation }) => allocation.host))].slice(0, 2);
  expect(frozen).toHaveLength(2);
  for (const host of frozen) process.kill(pidOf(host), 'SIGSTOP');
  try {
    await work(frozen);
  } finally {
    for (const host of frozen) process.kill(pidOf(host), 'SIGCONT');
  }
}

const isReady = ({ hosts }: HostListAnswer): boolean =>
  hosts.length === HOSTS &&
  hosts.every(({ eligibility, alive }) => alive && (eligibility?.state ?? 'ready') === 'ready');

const SERVICE = {
  ...{ type: 'service', count: COUNT, script: 'sleep 1000', spread: [{ by: 'host' }] },
  resources: { cpu: '100m', memory: '16Mi' },
};

describe('hosts that vanish together', () => {
  it('I18 S0.11 S3.29 two frozen hosts of six are replaced later than one, why says until when, and their return is tidied up', async () => {
    await submit({ name: 'web', ...SERVICE, reschedule: { onHostLost: true } });
    await whileFrozen('web', async (frozen) => {
      const told = await until(
        async () => (await moorage('why', 'web')).stdout,
        (text) => text.includes('vanished together'),
      );
      expect(told).toMatch(/declared lost in \d+ s unless it returns \(2 hosts vanished together/);
      expect(told).toContain('then replaced');
      expect((await moorage('status', 'web')).stdout).toContain('silent for');
      const status = await until(
        () => statusOf('web'),
        (found) => runningOn(found).length === COUNT,
      );
      for (const host of frozen) expect(runningOn(status)).not.toContain(host);
    });
    await until(() => answer<HostListAnswer>('hosts'), isReady);
    const { allocations } = await until(
      () => statusOf('web'),
      (status) => status.allocations.length === COUNT,
    );
    expect(new Set(allocations.map(({ allocation }) => allocation.index)).size).toBe(COUNT);
    await moorage('stop', 'web', '--wait', '--timeout', '100s');
  });

  it('S0.12 S0.13 S0.14 what two frozen hosts ran is kept on their return where the job says so, and what replaced it goes', async () => {
    await submit({ name: 'kept', ...SERVICE, reschedule: { onHostLost: true, onReturn: 'original' } });
    await whileFrozen('kept', async (frozen) => {
      const status = await until(
        () => statusOf('kept'),
        (found) => runningOn(found).filter((host) => !frozen.includes(host)).length === COUNT,
      );
      expect(runningOn(status).filter((host) => frozen.includes(host))).toEqual([]);
    });
    const { allocations, outcomes } = await until(
      () => statusOf('kept'),
      (found) => found.allocations.length === COUNT && runningOn(found).length === COUNT,
    );
    expect(allocations.map(({ allocation }) => allocation.attempt)).toEqual(allocations.map(() => 1));
    expect(outcomes.length).toBeGreaterThan(0);
    for (const { attempt, cause } of outcomes)
      expect({ attempt, cause }).toEqual({
        attempt: 2,
        cause: expect.stringMatching(/^duplicate of /) as string,
      });
    await moorage('stop', 'kept', '--wait', '--timeout', '100s');
  });

  it('S1.12 S1.25 a stop beside frozen hosts ends when an operator gives them up, and their return starts nothing again', async () => {
    await submit({ name: 'stays', ...SERVICE });
    await whileFrozen('stays', async ([first = '', second = '']) => {
      await moorage('stop', 'stays');
      const alive =
        [1, 2, 3].map((n) => `host-${String(n)}`).find((name) => ![first, second].includes(name)) ?? '';
      const early = await moorage('host', 'remove', alive, '--reason', 'mistake');
      expect(early.code).toBe(3);
      expect(early.stderr).toContain(`moorage host drain ${alive} --wait`);
      const isSilent = ({ hosts }: HostListAnswer): boolean => hosts.filter((one) => !one.alive).length === 2;
      await until(() => answer<HostListAnswer>('hosts'), isSilent);
      expect((await moorage('host', 'lost', first, '--reason', 'burnt')).stdout).toBe(`${first} is lost\n`);
      const removed = await moorage('host', 'remove', second, '--reason', 'sold');
      expect(removed.stdout).toMatch(new RegExp(`^${second} is removed`));
      expect((await moorage('wait', 'stays', '--for', 'stopped', '--timeout', '100s')).code).toBe(0);
      const gone = ({ hosts }: HostListAnswer): boolean => hosts.every(({ host }) => host.id !== second);
      await until(() => answer<HostListAnswer>('hosts'), gone);
      const events = await moorage('events', '--since', '0', '--kind', 'host-lost');
      expect(events.stdout).toMatch(/operator.*burnt/);
      expect(events.stdout).toMatch(/operator.*sold/);
    });
    // The agents go on, and are ordered to stop what they still ran.
    await until(() => answer<HostListAnswer>('hosts'), isReady);
    const { outcomes, allocations } = await statusOf('stays');
    expect(allocations).toEqual([]);
    expect(new Set(outcomes.map(({ state }) => state))).toEqual(new Set(['killed']));
  });
});
