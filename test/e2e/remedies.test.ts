import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Verdict } from '../../src/core/detector/verdict.ts';
import type { VerdictsAnswer } from '../../src/wire/verdicts/verdicts.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { ONE_OF_EACH, runCli, startDevCell, testFolder } from '../support/cli.ts';
import { until } from '../support/until.ts';

const folder = testFolder();
/** So much is well beside what is bad that two bad versions are no accident, and no fault of the hosts. */
const HOSTS = 4;
const WELL = ['one', 'two', 'three', 'four'];
let cell: DevCellProcess;

const moorage = (...args: readonly string[]) => runCli(args, { cwd: folder.path });

beforeAll(async () => {
  cell = await startDevCell(folder.path, [
    ...ONE_OF_EACH,
    ...['--hosts', String(HOSTS), '--schedulers', 'service'],
  ]);
});
afterAll(async () => {
  expect((await cell.stop()).code).toBe(0);
  folder[Symbol.dispose]();
});

async function submit(name: string, script: string): Promise<void> {
  const file = join(folder.path, `${name}.yaml`);
  const job = { name, type: 'service', count: HOSTS, distinct: ['host'], script };
  const more = { restart: { attempts: 50, delay: '1s' }, resources: { cpu: '20m', memory: '16Mi' } };
  writeFileSync(file, JSON.stringify({ ...job, ...more }));
  expect((await moorage('run', '-d', file)).stderr).toBe('');
}

async function remedies(perHourMax: number): Promise<void> {
  const file = join(folder.path, 'remedies.yaml');
  writeFileSync(file, `revision: [slow-restarts]\nperHourMax: ${String(perHourMax)}\n`);
  const set = await moorage('remedies', 'set', file);
  expect([set.code, set.stdout], set.stderr).toEqual([
    0,
    expect.stringContaining(`perHourMax: ${String(perHourMax)}\n`),
  ]);
}

const verdicts = async (): Promise<readonly Verdict[]> =>
  (JSON.parse((await moorage('verdicts', '-o', 'json')).stdout) as VerdictsAnswer).verdicts;
const statesOf = (all: readonly Verdict[]): readonly string[] =>
  all.flatMap(({ remedies: of }) => of.map(({ state }) => state)).sort();

it('S3.40 beyond its budget of an hour a cell applies no remedy, says what waits, and goes on when an operator allows more', async () => {
  await remedies(1);
  for (const name of WELL) await submit(name, 'sleep 1000');
  for (const name of WELL)
    expect((await moorage('wait', name, '--for', 'running', '--timeout', '80s')).code).toBe(0);
  for (const name of ['bad', 'worse']) await submit(name, 'exit 3');

  const found = await until(
    verdicts,
    (all) =>
      all.length === 2 &&
      statesOf(all).includes('applied') &&
      all.some(({ remedies: [of] }) => of?.detail.startsWith('waits')),
  );
  expect(found.map(({ suspect }) => suspect).sort()).toEqual([
    'revision/default/bad/bad/1',
    'revision/default/worse/worse/1',
  ]);
  expect(statesOf(found)).toEqual(['applied', 'wanted']);
  const waiting = found.find(({ remedies: [of] }) => of?.state === 'wanted')?.suspect ?? '';
  expect((await moorage('verdicts')).stdout).toMatch(
    new RegExp(`${waiting} .*slow-restarts wanted \\(waits: the budget of the cell is 1 within an hour\\)`),
  );
  expect(
    (await moorage('status')).stdout.match(/^restarts .*: at fault: version 1 of .*; exit code 3$/gm),
  ).toHaveLength(1);

  await remedies(2);
  await until(verdicts, (all) => statesOf(all).join() === 'applied,applied');
  expect((await moorage('check')).stdout).toContain('no violation of');
});
