import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DevCellProcess } from '../support/cli.ts';
import { runCli, startDevCell, testFolder } from '../support/cli.ts';

const folder = testFolder();
let cell: DevCellProcess;

beforeAll(async () => {
  cell = await startDevCell(folder.path);
}, 60_000);

afterAll(async () => {
  const ended = await cell.stop();
  folder[Symbol.dispose]();
  expect(ended.code).toBe(0);
});

const moorage = (...args: string[]) => runCli(args, { cwd: folder.path });

/** Pids as the cell printed them: `processes: arbiter-1 123, host-1 124, ...`. */
function pidOf(name: string): number {
  const pid = new RegExp(`processes:.*\\b${name} (\\d+)`).exec(cell.output())?.[1];
  if (pid === undefined) throw new Error(`no pid of ${name} in:\n${cell.output()}`);
  return Number(pid);
}

describe('S4.35 killing control processes while jobs run', () => {
  it('loses no output and no exit code, and leaves a history without a violation', async () => {
    const count = 8;
    const file = join(folder.path, 'long.yaml');
    writeFileSync(
      file,
      [
        'name: long',
        'type: batch',
        'groups:',
        '  work:',
        `    count: ${String(count)}`,
        '    tasks:',
        '      print:',
        '        script: |',
        '          for i in $(seq 1 40); do echo "$ALLOC_INDEX line $i"; sleep 0.1; done',
        '        resources: { cpu: 200m, memory: 32Mi }',
      ].join('\n'),
    );
    const job = moorage('run', file);
    const script = 'for i in $(seq 1 40); do echo line $i; sleep 0.1; done; exit 9';
    const oneOff = moorage('run', '--', 'sh', '-c', script);
    const lists = await untilRunning(count + 1);
    expect(lists).toBe(count + 1);

    for (const name of ['batch-1', 'monitor-1', 'host-1']) process.kill(pidOf(name), 'SIGKILL');
    for (const name of ['batch-1', 'monitor-1', 'host-1'])
      await cell.says(new RegExp(`${name} ended .* is up again`));

    const run = await oneOff;
    expect(run.stdout).toBe(Array.from({ length: 40 }, (_, n) => `line ${String(n + 1)}\n`).join(''));
    expect(run.code).toBe(9);
    expect(await job).toMatchObject({ code: 0 });
    const logs = await moorage('logs', 'long');
    const printed = new Set(logs.stdout.split('\n').map((line) => line.replace(/^long\.work\[\d+\] /, '')));
    const wanted = Array.from(
      { length: count * 40 },
      (_, n) => `${String(n % count)} line ${String(1 + Math.floor(n / count))}`,
    );
    expect(wanted.filter((line) => !printed.has(line))).toEqual([]);

    const check = await moorage('check');
    expect(check.stdout).toMatch(/no violation of I1 I2 I3 I4 I6 I7 I8 I12 I13/);
    expect(check.code).toBe(0);
  }, 120_000);
});

async function untilRunning(wanted: number): Promise<number> {
  for (;;) {
    const listed = await moorage('ps', '-o', 'json');
    const { jobs } = JSON.parse(listed.stdout) as { jobs: { counts: { running: number } }[] };
    const running = jobs.reduce((sum, job) => sum + job.counts.running, 0);
    if (running >= wanted) return running;
  }
}
