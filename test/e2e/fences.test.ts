import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HostListAnswer, JobStatus } from '../../src/wire/api/monitor-api.ts';
import type { CliProcess, DevCellProcess } from '../support/cli.ts';
import { ONE_OF_EACH, PROJECT_ROOT, pidIn, runCli, startDevCell, testFolder } from '../support/cli.ts';
import { runningOn, startEagerMonitor } from '../support/eager-monitor.ts';
import { until } from '../support/until.ts';

const folder = testFolder();
const HOSTS = 3;
let cell: DevCellProcess;
/** It gives its verdicts earlier than the one of the cell. */
let monitor: CliProcess;

const moorage = (...args: readonly string[]) => runCli(args, { cwd: folder.path });
const answer = async <T>(...args: readonly string[]): Promise<T> =>
  JSON.parse((await moorage(...args, '-o', 'json')).stdout) as T;
const why = async (job: string): Promise<string> => (await moorage('why', job)).stdout;

beforeAll(async () => {
  cell = await startDevCell(folder.path, [
    ...ONE_OF_EACH,
    '--hosts',
    String(HOSTS),
    '--schedulers',
    'service',
  ]);
  const program = join(folder.path, 'by-file.sh');
  cpSync(join(PROJECT_ROOT, 'examples', 'fences', 'by-file.sh'), program);
  const fence = ['--fence', `power=${program}`, '--fence-timeout', '1s'];
  monitor = await startEagerMonitor(cell, ['--lost-after', '2s', ...fence]);
  await monitor.says('"ready"');
});

afterAll(async () => {
  monitor.kill('SIGTERM');
  await monitor.end;
  expect((await cell.stop()).code).toBe(0);
  folder[Symbol.dispose]();
});

/** A job that must be single. */
async function submit(name: string, fence: string): Promise<void> {
  const file = join(folder.path, `${name}.yaml`);
  const job = {
    ...{ name, type: 'service', count: 1, script: 'sleep 1000' },
    ...{ reschedule: { onHostLost: true }, disconnect: { fence } },
    resources: { cpu: '100m', memory: '16Mi' },
  };
  writeFileSync(file, JSON.stringify(job));
  expect((await moorage('run', '-d', file)).stderr).toBe('');
}

/** Freezes the agent of the job's host, and ends that in any case. */
async function whileFrozen(job: string, work: (host: string) => Promise<void>): Promise<void> {
  const [host = ''] = runningOn(
    await until(
      () => answer<JobStatus>('status', job),
      (status) => runningOn(status).length === 1,
    ),
  );
  const pid = pidIn(cell, host);
  process.kill(pid, 'SIGSTOP');
  try {
    await work(host);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await until(
    () => answer<HostListAnswer>('hosts'),
    ({ hosts }) =>
      hosts.every(({ eligibility, alive }) => alive && (eligibility?.state ?? 'ready') === 'ready'),
  );
}

/** What the slot has had: its attempts, those that ended included. */
async function attemptsOf(job: string): Promise<readonly number[]> {
  const { allocations, outcomes } = await answer<JobStatus>('status', job);
  return [
    ...allocations.map(({ allocation }) => allocation.attempt),
    ...outcomes.map(({ attempt }) => attempt),
  ];
}

describe('a job that must be single', () => {
  it('S0.34 I72 waits until an operator says that its lost host runs it no more, and is then replaced once', async () => {
    await submit('one', 'plug');
    await whileFrozen('one', async (host) => {
      const early = await moorage('host', 'fenced', host, '--fence', 'plug', '--reason', 'too early');
      expect(early.code).toBe(3);
      expect(early.stderr).toContain(`${host} is not lost`);
      const told = await until(
        () => why('one'),
        (text) => text.includes('lost for'),
      );
      expect(told).toContain(`kept until fence plug confirms that ${host} runs it no more`);
      expect(told).toContain(`moorage host fenced ${host} --fence plug --reason TEXT`);
      // Another word is not the one that the job waits for.
      await moorage('host', 'lost', host, '--reason', 'burnt');
      await moorage('host', 'fenced', host, '--fence', 'other', '--reason', 'mistaken');
      expect(await why('one')).toContain('no answer yet');
      expect(await attemptsOf('one')).toEqual([1]);
      const said = await moorage('host', 'fenced', host, '--fence', 'plug', '--reason', 'pulled it');
      expect(said.stdout).toBe(`${host} is fenced: plug\n`);
      const status = await until(
        () => answer<JobStatus>('status', 'one'),
        (found) => runningOn(found).length === 1,
      );
      expect(runningOn(status)).not.toContain(host);
      expect((await moorage('events', '--since', '0', '--kind', 'host-fenced')).stdout).toMatch(
        /plug: pulled it/,
      );
      expect((await moorage('audit')).stdout).toMatch(/fence-host/);
      expect((await moorage('host', 'status', host)).stdout).toMatch(/fence plug: confirmed .* pulled it/);
    });
    expect([...(await attemptsOf('one'))].sort()).toEqual([1, 2]);
    await moorage('stop', 'one', '--wait', '--timeout', '60s');
  });

  it('S0.34 I72 waits while its fence says no, which why tells, and is replaced once when it says yes', async () => {
    await submit('two', 'power');
    await whileFrozen('two', async (host) => {
      const told = await until(
        () => why('two'),
        (text) => text.includes('nobody has cut'),
      );
      expect(told).toContain(`kept until fence power confirms that ${host} runs it no more`);
      expect(told).toMatch(/power: not confirmed \d+ s ago by monitor-9: exit 1: nobody has cut host-\d off/);
      expect(await attemptsOf('two')).toEqual([1]);
      mkdirSync(join(folder.path, 'fenced'));
      writeFileSync(join(folder.path, 'fenced', host), '');
      const status = await until(
        () => answer<JobStatus>('status', 'two'),
        (found) => runningOn(found).length === 1,
      );
      expect(runningOn(status)).not.toContain(host);
      const events = (await moorage('events', '--since', '0')).stdout;
      expect(events).toMatch(/host-not-fenced .*nobody has cut/);
      expect(events).toMatch(/host-fenced .*power: exit 0/);
    });
    expect([...(await attemptsOf('two'))].sort()).toEqual([1, 2]);
    await moorage('stop', 'two', '--wait', '--timeout', '60s');
  });
});
