import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCli, startCli, testFolder } from '../support/cli.ts';

/** Some seconds of computing after the first tenth is told. */
const LONG = ['--hours', '1000'];

function workload(folder: string): string {
  const file = join(folder, 'cell.json');
  const work = { tasks: { mean: 5 }, runtime: { mean: '200s' }, task: { cpu: 1, memory: '1Gi' } };
  writeFileSync(
    file,
    JSON.stringify({
      ...{ name: 'small', duration: '2h', hosts: [{ count: 200, cpu: 4, memory: '16Gi' }] },
      classes: { batch: { every: { mean: '2s' }, ...work }, service: { every: { mean: '30s' }, ...work } },
    }),
  );
  return file;
}

test.each(['SIGINT', 'SIGTERM'] as const)('%s: a run that is stopped tells what it has', async (signal) => {
  using folder = testFolder();
  const run = startCli(['sim', 'run', workload(folder.path), ...LONG], { cwd: folder.path });
  await run.says(' 10 %');
  run.kill(signal);
  const { code, stdout, stderr } = await run.end;
  expect(code).toBe(130);
  expect(stderr).toMatch(/Partial: of 1 run one stopped after (\d+\w+) of 41d16h of simulated time/);
  expect(stdout).toMatch(/shared-state, first \d+d\w* +batch +\d{5,}/);
  const out = join(folder.path, '.moorage', 'sim-run');
  const report = readFileSync(join(out, 'report.html'), 'utf8');
  expect(report).toContain('Partial: of 1 run one stopped after');
  const [head, ...rows] = readFileSync(join(out, 'run.csv'), 'utf8').trimEnd().split('\n');
  const column = head!.split(',').indexOf('simulated_seconds');
  const simulated = rows.map((row) => Number(row.replace(/"[^"]*"/, '').split(',')[column]));
  expect(rows).toHaveLength(2);
  for (const seconds of simulated) {
    expect(seconds).toBeGreaterThanOrEqual(100 * 3600);
    expect(seconds).toBeLessThan(1000 * 3600);
  }
  // It is no point that a later call may take for whole.
  expect(readdirSync(join(out, 'points'))).toEqual([]);
});

test('of several runs those that were over are kept, and the same command goes on', async () => {
  using folder = testFolder();
  const file = workload(folder.path);
  // The second takes seconds: it is not over when the signal comes, on a busy machine either.
  const designs = ['--designs', 'multi-path,shared-state', '--threads', '1', '--hours', '100'];
  const args = ['sim', 'compare', file, ...designs];
  const first = startCli(args, { cwd: folder.path });
  await first.says('1/2  multi-path');
  first.kill('SIGINT');
  const stopped = await first.end;
  expect(stopped.code).toBe(130);
  expect(stopped.stderr).toContain('1 whole run kept; the same command with --resume takes them up');
  const second = await runCli([...args, '--resume'], { cwd: folder.path });
  expect(second.code).toBe(0);
  expect(second.stderr).toContain('1 of 2 points are there already');
  expect(second.stdout).toMatch(/^multi-path +batch/m);
  expect(second.stdout).toMatch(/^shared-state +batch/m);
  expect(second.stderr).not.toContain('Partial');
});

test('a second signal ends at once, with no report', async () => {
  using folder = testFolder();
  const run = startCli(['sim', 'run', workload(folder.path), ...LONG], { cwd: folder.path });
  await run.says(' 10 %');
  // It finds both when it goes on: nothing of its report can lie between them.
  for (const signal of ['SIGSTOP', 'SIGINT', 'SIGTERM', 'SIGCONT'] as const) run.kill(signal);
  const { code } = await run.end;
  expect(code).toBe(130);
  expect(existsSync(join(folder.path, '.moorage', 'sim-run', 'report.html'))).toBe(false);
});
