import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { HostListAnswer } from '../../src/wire/api/monitor-api.ts';
import type { BudgetsAnswer } from '../../src/wire/budgets/budgets.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { ONE_OF_EACH, runCli, startDevCell, testFolder } from '../support/cli.ts';
import { until } from '../support/until.ts';

const folder = testFolder();
const NAMES = ['one', 'two', 'three'];
let cell: DevCellProcess;

const moorage = (...args: readonly string[]) => runCli(args, { cwd: folder.path });

beforeAll(async () => {
  cell = await startDevCell(folder.path, [
    ...ONE_OF_EACH,
    ...['--hosts', '2', '--schedulers', 'service,service'],
  ]);
});
afterAll(async () => {
  expect((await cell.stop()).code).toBe(0);
  folder[Symbol.dispose]();
});

async function allow(text: string): Promise<string> {
  const file = join(folder.path, 'budgets.yaml');
  writeFileSync(file, text);
  const set = await moorage('budgets', 'set', file);
  expect(set.code, set.stderr).toBe(0);
  return set.stdout;
}

async function submit(name: string): Promise<void> {
  const file = join(folder.path, `${name}.yaml`);
  const job = { name, type: 'service', script: 'sleep 1000', resources: { cpu: '20m', memory: '16Mi' } };
  writeFileSync(file, JSON.stringify({ ...job, update: { minHealthy: '1s' }, stop: { grace: '1s' } }));
  expect((await moorage('run', '-d', file)).stderr).toBe('');
  expect((await moorage('wait', name, '--for', 'running', '--timeout', '80s')).code).toBe(0);
}

async function left(): Promise<number | null | undefined> {
  const answer = JSON.parse((await moorage('budgets', '-o', 'json')).stdout) as BudgetsAnswer;
  return answer.budgets.find(({ kind }) => kind === 'moves')?.left;
}

const whys = async (): Promise<readonly string[]> =>
  await Promise.all(NAMES.map(async (name) => (await moorage('why', name)).stdout));
const heldIn = (texts: readonly string[]): number =>
  texts.filter((text) => text.includes("waits for the cell's budget of moves, 1 at once and 1 an hour"))
    .length;

it('S3.40 I76 a cell moves no more than its budget, says what waits, and goes on when an operator allows more', async () => {
  expect(await allow('moves: { burst: 1, perHour: 1 }\n')).toMatch(/moves +1 +1 +1\n/);
  expect(await left()).toBe(1);
  expect((await moorage('status')).stdout).toMatch(/^budgets left: moves 1 of 1$/m);
  const { hosts } = JSON.parse((await moorage('hosts', '-o', 'json')).stdout) as HostListAnswer;
  const [from = '', to = ''] = hosts.map(({ host }) => host.id);
  expect((await moorage('host', 'cordon', to)).code).toBe(0);
  for (const name of NAMES) await submit(name);
  expect((await moorage('host', 'ready', to)).code).toBe(0);
  expect((await moorage('host', 'drain', from)).code).toBe(0);

  const held = await until(whys, (texts) => heldIn(texts) === 2);
  expect(heldIn(held)).toBe(2);
  expect(await left()).toBe(0);

  await allow('moves: { burst: 10, perHour: 3600 }\n');
  const emptied = await moorage('host', 'drain', from, '--wait');
  expect(emptied.code, emptied.stderr).toBe(0);
  expect(heldIn(await whys())).toBe(0);
  expect(await allow('moves: { per: { attribute: rack, burst: 5, perHour: 60 } }\n')).toMatch(
    /^moves +no bound +no bound +no bound\nmoves, each rack +- +5 +60$/m,
  );
}, 200_000);
