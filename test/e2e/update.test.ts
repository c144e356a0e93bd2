import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobStatus } from '../../src/wire/api/monitor-api.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { ONE_OF_EACH, runCli, startDevCell, testFolder } from '../support/cli.ts';
import { until } from '../support/until.ts';

const folder = testFolder();
const COUNT = 3;
let cell: DevCellProcess;

const moorage = (...args: readonly string[]) => runCli(args, { cwd: folder.path });
const status = async (): Promise<JobStatus> =>
  JSON.parse((await moorage('status', 'web', '-o', 'json')).stdout) as JobStatus;

beforeAll(async () => {
  cell = await startDevCell(folder.path, [...ONE_OF_EACH, '--hosts', '2', '--schedulers', 'service']);
});
afterAll(async () => {
  expect((await cell.stop()).code).toBe(0);
  folder[Symbol.dispose]();
});

async function submit(script: string, more: object = {}): Promise<void> {
  const file = join(folder.path, 'web.yaml');
  const job = { name: 'web', type: 'service', count: COUNT, script, update: { minHealthy: '2s' }, ...more };
  writeFileSync(file, JSON.stringify(job));
  expect((await moorage('run', '-d', file)).stderr).toBe('');
}

const untilStatus = (holds: (found: JobStatus) => boolean): Promise<JobStatus> => until(status, holds);

const runningOf = ({ allocations }: JobStatus, version: number): number =>
  allocations.filter(
    ({ allocation, report }) => allocation.jobVersion === version && report?.state === 'running',
  ).length;

describe('a new version of a service', () => {
  it('S3.24 one that does not stay up replaces one of three, why says so, and a good one goes on from there', async () => {
    await submit('sleep 1000');
    await untilStatus((found) => runningOf(found, 1) === COUNT);
    await submit('sleep 1; exit 7', { restart: { attempts: 2, delay: '500ms' } });
    // It was restarted as often as it may be, and its next try waits for its delay.
    const failed = await untilStatus(({ outcomes }) =>
      outcomes.some(({ jobVersion, state }) => jobVersion === 2 && state === 'failed'),
    );
    expect(runningOf(failed, 1)).toBe(COUNT - 1);
    const why = (await moorage('why', 'web')).stdout;
    expect(why).toMatch(/web: updating: 2 still to be replaced by version 2; waits: web\[0\]/);
    expect((await moorage('status', 'web')).stdout).toMatch(/update of web: 2 still to be replaced/);
    await submit('sleep 2000');
    const done = await untilStatus((found) => runningOf(found, 3) === COUNT);
    expect(
      done.outcomes.filter(({ jobVersion, state }) => jobVersion === 1 && state === 'killed'),
    ).toHaveLength(COUNT);
    expect((await moorage('why', 'web')).stdout).toContain('3 run, nothing waits');
  });

  it('a version that runs and is never ready replaces one of three, and why, status and ps say so', async () => {
    const checks = { word: { file: 'ready', interval: '200ms', failureThreshold: 1 } };
    await submit('sleep 1; touch ready; sleep 3000', { checks, update: { minHealthy: '300ms' } });
    const ready = await untilStatus(
      (found) => runningOf(found, 4) === COUNT && found.summary.counts.ready === COUNT,
    );
    expect((await moorage('ps', 'web')).stdout).toMatch(/web\[2\].* yes /);
    // Each went only when the one before was ready: none before the file was there.
    const starts = ready.allocations.map(({ report }) => report?.startedAtMs ?? 0).sort((a, b) => a - b);
    expect((starts[1] ?? 0) - (starts[0] ?? 0)).toBeGreaterThan(1_000);
    await submit('sleep 4000', { checks, update: { minHealthy: '300ms' } });
    await untilStatus((found) => runningOf(found, 5) === 1);
    await until(
      async () => (await moorage('why', 'web')).stdout,
      (why) => /waits: web\[0\] is not ready: check word: there is no file ready/.test(why),
    );
    expect((await moorage('status', 'web')).stdout).toContain(
      'web[0] is not ready: check word: there is no file',
    );
    expect((await moorage('ps', 'web')).stdout).toMatch(/web\[0\].* no /);
    expect(runningOf(await status(), 4)).toBe(COUNT - 1);
    expect((await moorage('events', '--since', '0')).stdout).toMatch(/ready .*passes its health checks/);
    await submit('sleep 2000');
    await untilStatus((found) => runningOf(found, 6) === COUNT);
  });

  it('K2 J1: undone when it fails, canaries and their promotion, scale, restart, history, diff, undo', async () => {
    const file = join(folder.path, 'roll.json');
    const checks = { word: { file: 'ready', interval: '200ms', failureThreshold: 1 } };
    const run = (script: string, update: object, verb = 'run') => {
      const settings = { minHealthy: '300ms', autoRevert: true, healthyDeadline: '4s', ...update };
      const job = { name: 'roll', count: 2, script, checks, update: settings };
      writeFileSync(file, JSON.stringify(job));
      return moorage(verb, file);
    };
    const roll = async (): Promise<JobStatus> =>
      JSON.parse((await moorage('status', 'roll', '-o', 'json')).stdout) as JobStatus;
    const versionsOf = ({ allocations }: JobStatus) =>
      allocations
        .filter(({ allocation }) => allocation.desired === 'run')
        .map(({ allocation }) => allocation.jobVersion);
    expect((await run('touch ready; sleep 1000', {})).code).toBe(0);

    const failed = await run('sleep 2000', { healthyDeadline: '1500ms' });
    expect(failed.code).toBe(1);
    // The monitor may undo it before the command has seen that it failed.
    expect(failed.stderr).toMatch(/version 1, the last good one, takes its place|which is version 1 again/);
    let back = await roll();
    while (back.summary.version < 3 || back.rollout?.record?.state !== 'done') back = await roll();
    expect(versionsOf(back)).toEqual([3, 1]);
    expect((await moorage('history', 'roll')).stdout).toMatch(/3 .*current, good, version 1 again/);

    const differs = await run('touch ready; sleep 3000', { canary: 1 }, 'diff');
    expect(differs.code).toBe(1);
    expect(differs.stdout).toMatch(/\+ groups\.roll\.tasks\.roll\.command: .*sleep 3000/);
    expect(differs.stdout).toContain('group roll: all are replaced, 1 at a time, stop-first');
    const canary = await run('touch ready; sleep 3000', { canary: 1 });
    expect(canary.code).toBe(0);
    expect(canary.stderr).toContain('moorage rollout promote roll');
    expect(versionsOf(await roll())).toEqual([3, 1, 4]);
    expect((await moorage('rollout', 'promote', 'roll')).code).toBe(0);
    let seen = await roll();
    for (; seen.rollout?.record?.state !== 'done' || seen.allocations.length > 2; seen = await roll())
      expect(seen.summary.counts.ready).toBeGreaterThanOrEqual(2);
    expect(versionsOf(seen)).toEqual([4, 4]);

    expect((await moorage('scale', 'roll', '1')).code).toBe(0);
    expect(versionsOf(await roll())).toEqual([4]);
    const restarted = await moorage('restart', 'roll');
    expect([restarted.code, restarted.stdout]).toEqual([0, 'roll is version 6 now\n']);
    expect(versionsOf(await roll())).toEqual([6]);
    expect((await moorage('rollout', 'status', 'roll')).stdout).toMatch(/roll: version 6 done/);
    expect((await moorage('rollout', 'pause', 'roll')).stderr).toContain('no update of roll is under way');
    expect((await moorage('rollout', 'undo', 'roll', '--to', '3', '-d')).stdout).toBe(
      'roll is version 7 now\n',
    );

    const late = { name: 'late', script: 'sleep 1000', checks };
    writeFileSync(file, JSON.stringify({ ...late, update: { minHealthy: '0s', healthyDeadline: '1s' } }));
    const never = await moorage('run', file);
    expect([never.code, never.stderr]).toEqual([1, expect.stringContaining('not up within 1s')]);
  });

  it('a change of labels or constraints that all still meet restarts nothing', async () => {
    const before = await untilStatus((found) => runningOf(found, 6) === COUNT);
    await submit('sleep 2000', { labels: { team: 'web' }, constraints: ['host.os == linux'] });
    const after = await untilStatus(({ summary }) => summary.version === 7);
    const idsOf = ({ allocations }: JobStatus) => allocations.map(({ allocation }) => allocation.id).sort();
    expect(idsOf(after)).toEqual(idsOf(before));
    await submit('sleep 2000', { constraints: ['host.id == host-1'] });
    const moved = await untilStatus(
      ({ allocations, summary }) =>
        summary.version === 8 &&
        allocations.length === COUNT &&
        allocations.every(
          ({ allocation, report }) => allocation.host === 'host-1' && report?.state === 'running',
        ),
    );
    const stayed = before.allocations.filter(({ allocation }) => allocation.host === 'host-1');
    expect(idsOf(moved)).toEqual(expect.arrayContaining(stayed.map(({ allocation }) => allocation.id)));
  });
});
