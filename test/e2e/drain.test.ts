import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HostListAnswer, JobStatus } from '../../src/wire/api/monitor-api.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { ONE_OF_EACH, runCli, startDevCell, testFolder } from '../support/cli.ts';

const folder = testFolder();
let cell: DevCellProcess;

const moorage = (...args: readonly string[]) => runCli(args, { cwd: folder.path });
const answer = async <T>(...args: readonly string[]): Promise<T> =>
  JSON.parse((await moorage(...args, '-o', 'json')).stdout) as T;

async function submit(job: { readonly name: string; readonly [field: string]: unknown }): Promise<void> {
  const file = join(folder.path, `${job.name}.yaml`);
  writeFileSync(file, JSON.stringify(job));
  expect((await moorage('run', '-d', file)).stderr).toBe('');
  expect((await moorage('wait', job.name, '--for', 'running', '--timeout', '200s')).code).toBe(0);
}

beforeAll(async () => {
  cell = await startDevCell(folder.path, [...ONE_OF_EACH, '--hosts', '2', '--schedulers', 'service,batch']);
});
afterAll(async () => {
  expect((await cell.stop()).code).toBe(0);
  folder[Symbol.dispose]();
});

/** Why the host was told to end each allocation that it keeps a verdict of. */
function verdictsOf(host: string): readonly string[] {
  const hosts = join(folder.path, '.moorage', 'cells', cell.file.cell);
  const paths = readdirSync(hosts, { recursive: true, encoding: 'utf8' });
  return paths
    .filter((path) => path.endsWith('verdict.json') && path.includes(host))
    .map((path) => (JSON.parse(readFileSync(join(hosts, path), 'utf8')) as { why: string }).why);
}

describe('a host that is drained', () => {
  it('S0.37 S0.40 I62 services move away one by one, batch tasks run to the deadline, and it says when it is empty', async () => {
    await submit({ name: 'web', type: 'service', count: 4, script: 'sleep 1000' });
    await submit({ name: 'work', type: 'batch', count: 4, script: 'sleep 1000' });
    const { hosts } = await answer<HostListAnswer>('hosts');
    const host = hosts.find((row) => row.allocations > 0)?.host.id ?? '';
    const dry = await moorage('host', 'drain', host, '--dry-run');
    expect(dry.stdout).toMatch(
      /web\[\d\] is stopped, in its turn, and started anew|work\[\d\] runs to its end/,
    );
    expect(dry.stdout).toContain('nothing was done');
    const drained = await moorage('host', 'drain', host, '--deadline', '3s', '--reason', 'disks', '--wait');
    expect(drained.stderr).toBe('');
    expect(drained.stdout).toMatch(
      new RegExp(`^${host} is draining\n(\\d still there\n)+${host} is empty\n$`),
    );
    expect((await moorage('hosts')).stdout).toContain('draining (empty)');
    for (const job of ['web', 'work']) {
      expect((await moorage('wait', job, '--for', 'running', '--timeout', '200s')).code).toBe(0);
      const status = await answer<JobStatus>('status', job);
      expect(status.allocations.map(({ allocation }) => allocation.host)).not.toContain(host);
      expect(status.summary.counts).toMatchObject({ desired: 4, running: 4 });
      // Nobody's fault: it counts for nothing.
      for (const outcome of status.outcomes) expect(outcome.cause).toBe('host is draining');
    }
    const verdicts = verdictsOf(host);
    expect(verdicts.length).toBeGreaterThan(0);
    expect(new Set(verdicts)).toEqual(new Set(['drain']));
    expect((await moorage('host', 'ready', host)).stdout).toBe(`${host} is ready\n`);
    await moorage('stop', 'web', 'work', '--wait', '--timeout', '200s');
  });

  it('S0.1 what no drain moves runs to the deadline, waits for its host, and begins again there', async () => {
    await submit({ name: 'db', script: 'sleep 1000', reschedule: 'never' });
    const before = await answer<JobStatus>('status', 'db');
    const host = before.allocations[0]?.allocation.host ?? '';
    const dry = await moorage('host', 'drain', host, '--deadline', '3s', '--dry-run');
    expect(dry.stdout).toContain('runs on to the deadline, and is started anew when the host is ready again');
    await moorage('host', 'drain', host, '--deadline', '3s', '--reason', 'disks', '--wait');
    const why = await moorage('why', 'db');
    expect(why.stdout).toContain(`its job stays on ${host}: reschedule.onDrain is false`);
    await moorage('host', 'ready', host);
    expect((await moorage('wait', 'db', '--for', 'running', '--timeout', '200s')).code).toBe(0);
    const after = await answer<JobStatus>('status', 'db');
    expect(after.allocations).toMatchObject([{ allocation: { host, attempt: 2 } }]);
    await moorage('stop', 'db', '--wait', '--timeout', '200s');
  });

  it('a wrong name or deadline is told', async () => {
    const none = await moorage('host', 'drain', 'host-9', '--dry-run');
    expect(none.stderr).toContain('there is no host "host-9"');
    const bad = await moorage('host', 'drain', 'host-1', '--deadline', 'soon');
    expect(bad.code).toBe(64);
    expect(bad.stderr).toContain('--deadline');
  });
});
