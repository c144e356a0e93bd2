import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DevCellProcess } from '../support/cli.ts';
import { runCli, startDevCell, testFolder } from '../support/cli.ts';
import { openFolder } from '../support/real-host.ts';

const folder = testFolder();
let cell: DevCellProcess;

beforeAll(async () => {
  cell = await startDevCell(folder.path);
});

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

const SMALL = { cpu: '200m', memory: '32Mi' };
const LINES_MIN = 40;

/** Counts, all the time, until it is told to end; its last line says how far it came. */
function talk(what: string, go: string): string {
  const goesOn = `[ ! -e '${go}' ] || [ $i -lt ${String(LINES_MIN)} ]`;
  return `i=0; while ${goesOn}; do i=$((i+1)); echo "${what} $i"; sleep 0.1; done; echo "${what} $i is the last"`;
}

/** What it wrote, going by its last line. */
function allOf(what: string, said: string): string {
  const last = Number(new RegExp(`^${what} (\\d+) is the last$`, 'm').exec(said)?.[1] ?? 0);
  const lines = Array.from({ length: Math.max(last, LINES_MIN) }, (_, n) => `${what} ${String(n + 1)}\n`);
  return `${lines.join('')}${what} ${String(last)} is the last\n`;
}

describe('S4.35 killing control processes while jobs run', () => {
  it('loses no output and no exit code, and leaves a history without a violation', async () => {
    const count = 8;
    using open = openFolder();
    const go = join(open.path, 'go');
    const file = join(folder.path, 'long.json');
    const group = { count, tasks: { print: { script: talk('$ALLOC_INDEX line', go), resources: SMALL } } };
    writeFileSync(file, JSON.stringify({ name: 'long', type: 'batch', groups: { work: group } }));
    const job = moorage('run', file);
    const oneOff = moorage('run', '--', 'sh', '-c', `${talk('line', go)}; exit 9`);
    const lists = await untilRunning(count + 1);
    expect(lists).toBe(count + 1);

    for (const name of ['batch-1', 'monitor-1', 'host-1']) process.kill(pidOf(name), 'SIGKILL');
    for (const name of ['batch-1', 'monitor-1', 'host-1']) await cell.says(new RegExp(`${name} is up again`));
    writeFileSync(go, '');

    const run = await oneOff;
    expect(run.stdout).toBe(allOf('line', run.stdout));
    expect(run.code).toBe(9);
    expect(await job).toMatchObject({ code: 0 });
    const logs = await moorage('logs', 'long');
    const said = logs.stdout.replaceAll(/^long\.work\[\d+\] /gm, '');
    const printed = new Set(said.split('\n'));
    const wanted = Array.from({ length: count }, (_, n) => allOf(`${String(n)} line`, said));
    const missing = wanted
      .join('')
      .split('\n')
      .filter((line) => !printed.has(line));
    expect(missing).toEqual([]);

    const check = await moorage('check');
    expect(check.stdout).toMatch(/no violation of I1 I2 I3 I4 I6 I7 I8 I12 I13/);
    expect(check.code).toBe(0);
  });
});

async function untilRunning(wanted: number): Promise<number> {
  for (;;) {
    const listed = await moorage('ps', '-o', 'json');
    const { jobs } = JSON.parse(listed.stdout) as { jobs: { counts: { running: number } }[] };
    const running = jobs.reduce((sum, job) => sum + job.counts.running, 0);
    if (running >= wanted) return running;
  }
}
