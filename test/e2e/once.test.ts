import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ONE_OF_EACH, runCli, startCli, startDevCell, startShownCell, testFolder } from '../support/cli.ts';

describe('the demonstration', () => {
  it('shows a job, a one-off run and a conflict with its winner, exits 0, and leaves nothing behind', async () => {
    using folder = testFolder();
    const shown = await runCli(['dev', '--once'], { cwd: folder.path });
    expect(shown.stderr).toBe('');
    expect(shown.code).toBe(0);
    for (let part = 0; part < 4; part++) expect(shown.stdout).toContain(`part ${String(part)}`);
    expect(shown.stdout).toMatch(/hello from .*, on host-\d/);
    expect(shown.stdout).toContain('exit code 7');
    expect(shown.stdout).toMatch(/won: {2}batch-\d with collide-/);
    expect(shown.stdout).toMatch(/lost: batch-\d with collide-.*cpu/);
    expect(readdirSync(join(folder.path, '.moorage', 'cells'))).toEqual([]);
  });
});

it('an interrupt during the start ends it there, in order', async () => {
  using folder = testFolder();
  const dev = startCli(['dev', '--hosts', '1', '--monitors', '1'], { cwd: folder.path });
  await dev.says(/^ {2}etcd .*\n/m);
  dev.kill('SIGINT');
  const { code, stdout } = await dev.end;
  expect(code).toBe(0);
  expect(stdout).toContain('all processes ended');
  expect(stdout).not.toMatch(/^ {2}schedulers/m);
});

describe('a second start', () => {
  it('on the data of the first shows the whole demonstration again', async () => {
    using folder = testFolder();
    for (const name of ['hello', 'hello-']) {
      const cell = await startShownCell(folder.path);
      const jobs = await runCli(['ps', '-o', 'name'], { cwd: folder.path });
      expect(jobs.stdout).toContain(name);
      const { code, stdout } = await cell.stop();
      expect(code).toBe(0);
      expect(stdout).toMatch(/hello from .*, part 3 on host-\d/);
      expect(stdout).toMatch(/won: {2}batch-\d with collide-/);
    }
  });
});

describe('several cells from one folder', () => {
  it('stand side by side with data of their own, and a second start finds the jobs of the first', async () => {
    using folder = testFolder();
    const one = await startDevCell(folder.path, ONE_OF_EACH);
    const two = await startDevCell(folder.path, ONE_OF_EACH);
    expect(one.file.cell).toBe('dev');
    expect(two.file.cell).toBe('dev-2');
    const runs = await Promise.all(
      [one, two].map(({ file }) =>
        runCli(['run', '--name', 'where', '--', 'sh', '-c', 'echo $MOORAGE_HOST'], {
          cwd: folder.path,
          env: { MOORAGE_ADDR: file.monitors.join(',') },
        }),
      ),
    );
    for (const run of runs) expect(run).toMatchObject({ code: 0, stdout: 'host-1\n' });
    const stopped = await Promise.all([one.stop(), two.stop()]);
    expect(stopped.map(({ code }) => code)).toEqual([0, 0]);

    const again = await startDevCell(folder.path, ONE_OF_EACH);
    expect(again.file.cell).toBe('dev');
    const jobs = await runCli(['ps', '-o', 'name'], { cwd: folder.path });
    expect(jobs.stdout).toMatch(/where/);
    const run = await runCli(['run', '--', 'true'], { cwd: folder.path });
    expect(run.code).toBe(0);
    expect((await again.stop()).code).toBe(0);
    expect(existsSync(join(folder.path, '.moorage', 'cells', 'dev', 'lock'))).toBe(false);
  });
});
