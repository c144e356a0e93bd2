import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobListAnswer, JobStatus } from '../../src/wire/api/monitor-api.ts';
import type { JobPlan, PlanAnswer } from '../../src/wire/plan/plan.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { ONE_OF_EACH, runCli, startDevCell, testFolder } from '../support/cli.ts';

const folder = testFolder();
let cell: DevCellProcess;

beforeAll(async () => {
  cell = await startDevCell(folder.path, [...ONE_OF_EACH, '--hosts', '2', '--schedulers', 'service,batch']);
});
afterAll(async () => {
  expect((await cell.stop()).code).toBe(0);
  folder[Symbol.dispose]();
});

const moorage = (...args: readonly string[]) => runCli(args, { cwd: folder.path });

async function json<T>(...args: readonly string[]): Promise<T> {
  return JSON.parse((await moorage(...args, '-o', 'json')).stdout) as T;
}

function fileOf(job: { readonly name: string; readonly [field: string]: unknown }): string {
  const file = join(folder.path, `${job.name}.json`);
  writeFileSync(file, JSON.stringify({ script: 'sleep 3000', ...job }));
  return file;
}

async function slotsOf(job: string): Promise<readonly string[]> {
  const { allocations } = await json<JobStatus>('status', job);
  return allocations
    .filter(({ allocation }) => allocation.desired === 'run')
    .map(({ name }) => name)
    .sort();
}

/** Slots that a plan would have running in the end. */
function slotsAfter(before: readonly string[], { acts }: Pick<JobPlan, 'acts'>): readonly string[] {
  const slots = new Set(before);
  for (const { act, slot } of acts)
    if (act === 'stop') slots.delete(slot);
    else if (act === 'start') slots.add(slot);
  return [...slots].sort();
}

describe('moorage plan and whatif', () => {
  it('tells what a submission starts and stops, changes nothing, and then it happens so', async () => {
    const file = fileOf({ name: 'web', type: 'service', count: 2, update: { minHealthy: '1s' } });
    const first = await moorage('plan', file);
    expect(first.stderr).toBe('');
    expect(first.code).toBe(1);
    expect(first.stdout).toMatch(/^a new job\nstart web\[0\] on host-\d\nstart web\[1\] on host-\d\n/);
    expect(first.stdout).toContain('--check-version 0');
    expect((await json<JobListAnswer>('ps')).jobs).toEqual([]);
    await moorage('run', '-d', file);
    expect((await moorage('wait', 'web', '--for', 'running', '--timeout', '200s')).code).toBe(0);
    const same = await moorage('plan', file);
    expect([same.code, same.stdout]).toEqual([0, expect.stringContaining('nothing starts or stops')]);
    for (const change of [{ count: 4 }, { count: 3, script: 'sleep 4000' }]) {
      const next = fileOf({ name: 'web', type: 'service', update: { minHealthy: '1s' }, ...change });
      const before = await json<JobStatus>('status', 'web');
      const plan = await json<PlanAnswer>('plan', next);
      const after = await json<JobStatus>('status', 'web');
      expect(after.record).toEqual(before.record);
      expect(after.allocations.map(({ allocation }) => allocation)).toEqual(
        before.allocations.map(({ allocation }) => allocation),
      );
      const slots = slotsAfter(await slotsOf('web'), plan.jobs[0] ?? { acts: [] });
      expect((await moorage('run', next, '--timeout', '200s')).code).toBe(0);
      expect(await slotsOf('web')).toEqual(slots);
    }
  });

  it('says which quota a submission would go beyond', async () => {
    await moorage('quota', 'set', 'default', '--allocations', '5');
    const file = fileOf({ name: 'more', type: 'service', count: 9 });
    const { stdout } = await moorage('plan', file);
    expect(stdout).toMatch(
      /beyond the quota of default: \d+ allocations of 5, \d in use; what is beyond it waits/,
    );
    await moorage('quota', 'rm', 'default');
  });

  it('tells who is lost with a host, who moves, and what more hosts would run', async () => {
    const reschedule = { attempts: 5, onHostLost: true };
    await moorage('run', '-d', fileOf({ name: 'moves', type: 'service', count: 2, reschedule }));
    const wide = { name: 'wide', type: 'service', count: 3, distinct: ['host'] };
    await moorage('run', '-d', fileOf(wide));
    expect((await moorage('wait', 'moves', '--for', 'running', '--timeout', '200s')).code).toBe(0);
    const lost = await moorage('whatif', 'host-lost', 'host-1');
    expect(lost.stderr).toBe('');
    expect(lost.stdout).toMatch(/move moves\[\d\] from host-1 to host-2/);
    expect(lost.stdout).toContain('with host-1: not replaced: reschedule.onHostLost is false');
    const more = await moorage('whatif', 'add-hosts', '1', '--like', 'host-2');
    expect(more.stdout).toMatch(/default\/wide:\n {2}start wide\[\d\] on host-2-new-1/);
    expect((await json<{ readonly hosts: unknown[] }>('hosts')).hosts).toHaveLength(2);
    const none = await moorage('whatif', 'host-lost', 'host-9');
    expect(none.code).not.toBe(0);
    expect(none.stderr).toContain('there is no host host-9');
  });

  it('a preemption names its victims, and the scheduler that owns them says what they would do', async () => {
    const { hosts } = await json<{ hosts: { host: { capacity: { cpuMilli: number } } }[] }>('hosts');
    const most = Math.max(...hosts.map(({ host }) => host.capacity.cpuMilli)) - 1_000;
    const resources = { cpu: `${String(most)}m`, memory: '32Mi' };
    await moorage('run', '-d', fileOf({ name: 'low', type: 'batch', priority: 10, count: 2, resources }));
    expect((await moorage('wait', 'low', '--for', 'running', '--timeout', '200s')).code).toBe(0);
    const high = fileOf({ name: 'high', type: 'service', priority: 80, count: 1, resources });
    const plan = await moorage('plan', high);
    expect(plan.stdout).toMatch(/preempt low\[\d\] on host-\d of default\/low/);
    expect(plan.stdout).toMatch(
      /default\/low:\n {2}stop low\[\d\] on host-\d: evicted by default\/high\n {2}1 of group low/,
    );
    expect(await slotsOf('low')).toHaveLength(2);
  });
});
