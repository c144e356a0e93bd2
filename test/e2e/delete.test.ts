import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { DevCellProcess } from '../support/cli.ts';
import { ONE_OF_EACH, runCli, startDevCell, testFolder } from '../support/cli.ts';

const folder = testFolder();
let cell: DevCellProcess;
const moorage = (...args: readonly string[]) => runCli(args, { cwd: folder.path });

beforeAll(async () => {
  cell = await startDevCell(folder.path, [...ONE_OF_EACH, '--schedulers', 'service,batch']);
});
afterAll(async () => {
  expect((await cell.stop()).code).toBe(0);
  folder[Symbol.dispose]();
});

async function submit(name: string, script: string): Promise<void> {
  const file = join(folder.path, `${name}.yaml`);
  writeFileSync(file, JSON.stringify({ name, type: 'service', count: 2, script }));
  expect((await moorage('run', '-d', file)).stderr).toBe('');
}

it('S1.16 S1.34 a deleted job is stopped and forgotten, and its name is free again', async () => {
  await submit('web', 'sleep 1000');
  await submit('web', 'sleep 2000');
  expect((await moorage('wait', 'web', '--for', 'running', '--timeout', '100s')).code).toBe(0);
  const deleted = await moorage('delete', 'web', '--wait', '--timeout', '100s');
  expect(deleted).toMatchObject({ code: 0, stderr: '' });
  expect((await moorage('ps')).stdout).not.toContain('web');
  expect((await moorage('status', 'web')).stderr).toContain('there is no job');
  expect((await moorage('delete', 'web')).stderr).toContain('there is no job');
  expect((await moorage('check')).code).toBe(0);
  await submit('web', 'sleep 1000');
  expect((await moorage('status', 'web')).stdout).toContain('version 1');
});

it('S1.34 what has ended is shown, counted and collected, and what runs stays', async () => {
  for (const word of ['one', 'two'])
    expect((await moorage('run', '--name', word, '--', 'sh', '-c', 'exit 0')).code).toBe(0);
  const shown = await moorage('gc', '--dry-run');
  expect(shown.stdout).toMatch(/one-[a-z0-9]+ .*\n.*two-[a-z0-9]+ /);
  expect(shown.stderr).toContain('2 jobs would be deleted');
  expect((await moorage('gc', '--dry-run', '--older-than', '1h')).stderr).toContain('nothing has ended');
  expect((await moorage('gc', '--older-than', 'soon')).stderr).toContain('--older-than');
  expect((await moorage('status')).stdout).toMatch(/ended: \d+ one-off runs? of 10000 0%, kept for 1h;/);
  expect((await moorage('gc')).stderr).toContain('2 jobs deleted');
  // The monitors delete the records within their next sweeps.
  let left: string;
  do left = (await moorage('ps')).stdout;
  while (left.includes('one-'));
  expect(left).not.toContain('two-');
  expect((await moorage('ps')).stdout).toContain('web');
  expect((await moorage('gc')).stderr).toContain('nothing has ended');
  expect((await moorage('check')).code).toBe(0);
});
