import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CellStatus } from '../../src/wire/api/cell-api.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { ONE_OF_EACH, runCli, startDevCell, testFolder } from '../support/cli.ts';

const folder = testFolder();
let cell: DevCellProcess;

const moorage = (...args: readonly string[]) => runCli(args, { cwd: folder.path });
const shared = async () => (JSON.parse((await moorage('status', '-o', 'json')).stdout) as CellStatus).shared;

beforeAll(async () => {
  cell = await startDevCell(folder.path, [...ONE_OF_EACH, '--hosts', '2']);
});
afterAll(async () => {
  expect((await cell.stop()).code).toBe(0);
  folder[Symbol.dispose]();
});

describe('what the hosts of a cell share', () => {
  it('S3.15 S3.33 a job waits for its share, says so, and starts when somebody gives some back', async () => {
    const set = ['shared', 'set', 'licences', '--capacity', '5', '--unit', 'seats'] as const;
    expect((await moorage(...set)).stdout).toBe('licences\n');
    const jobs = { first: { licences: 4 }, second: { licences: 3 } };
    for (const [name, asked] of Object.entries(jobs)) {
      const job = { name, type: 'batch', script: 'sleep 1000', resources: { shared: asked } };
      writeFileSync(join(folder.path, `${name}.yaml`), JSON.stringify(job));
      expect((await moorage('run', '-d', join(folder.path, `${name}.yaml`))).stderr).toBe('');
      if (name === 'first')
        expect((await moorage('wait', name, '--for', 'running', '--timeout', '200s')).code).toBe(0);
    }
    await until(async () => (await moorage('why', 'second')).stdout.includes('licences/cell lacks 2 seats'));
    expect((await shared())[0]?.pools).toEqual([{ value: 'cell', capacity: 5, used: 4, hosts: 2 }]);
    const table = (await moorage('shared')).stdout;
    expect(table).toMatch(/licences +the cell +cell +4\/5 80% +seats +2/);
    expect((await moorage('status')).stdout).toMatch(
      /2 hosts, 2 alive; 2 jobs[^]*the store: [\d.]+ MiB of [^]*at revision/,
    );
    expect((await moorage('stop', 'first', '--wait', '--timeout', '200s')).code).toBe(0);
    expect((await moorage('wait', 'second', '--for', 'running', '--timeout', '200s')).code).toBe(0);
    expect((await shared())[0]?.pools[0]?.used).toBe(3);
    expect((await moorage('stop', 'second', '--wait', '--timeout', '200s')).code).toBe(0);
    expect((await moorage('shared', 'rm', 'licences')).code).toBe(0);
    expect(await shared()).toEqual([]);
    expect((await moorage('check')).stdout).toContain('no violation of');
  });

  it('what makes no sense is told', async () => {
    expect((await moorage('shared', 'set', 'uplink', '--capacity', '5', '--of', 'r1=7')).code).toBe(64);
    const bad = await moorage('shared', 'set', 'uplink', '--capacity', '5', '--by', 'host.id');
    expect(bad.stderr).toContain('by: is the host itself');
  });
});

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition()));
}
