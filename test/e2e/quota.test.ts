import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { QuotaListAnswer } from '../../src/wire/api/quota-api.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { ONE_OF_EACH, runCli, startDevCell, testFolder } from '../support/cli.ts';

const folder = testFolder();
let cell: DevCellProcess;

const moorage = (...args: readonly string[]) => runCli(args, { cwd: folder.path });
const quotas = async () =>
  (JSON.parse((await moorage('quota', '-o', 'json')).stdout) as QuotaListAnswer).quotas;

beforeAll(async () => {
  cell = await startDevCell(folder.path, ONE_OF_EACH);
});
afterAll(async () => {
  expect((await cell.stop()).code).toBe(0);
  folder[Symbol.dispose]();
});

describe('what a namespace of a cell may use', () => {
  it('I9 S3.46 a job beyond the quota waits, says so, and starts when an operator allows more', async () => {
    expect((await moorage('quota', 'set', 'default', '--cpu', '500m')).stdout).toBe('default\n');
    for (const name of ['first', 'second']) {
      const job = { name, type: 'batch', script: 'sleep 1000', resources: { cpu: '400m' } };
      writeFileSync(join(folder.path, `${name}.yaml`), JSON.stringify(job));
      expect((await moorage('run', '-d', join(folder.path, `${name}.yaml`))).stderr).toBe('');
      if (name === 'first')
        expect((await moorage('wait', name, '--for', 'running', '--timeout', '200s')).code).toBe(0);
    }
    await until(async () => (await moorage('why', 'second')).stdout.includes('quota of default: cpu 400m'));
    expect((await moorage('quota')).stdout).toMatch(/default +0\.4\/0\.5 80%/);
    expect((await moorage('quota', 'set', 'default', '--cpu', '1', '--allocations', '2')).code).toBe(0);
    expect((await moorage('wait', 'second', '--for', 'running', '--timeout', '200s')).code).toBe(0);
    expect(await quotas()).toMatchObject([{ namespace: 'default', cpuMilli: 1000, used: { cpuMilli: 800 } }]);
    expect((await moorage('quota', 'rm', 'default')).code).toBe(0);
    expect(await quotas()).toEqual([]);
    expect((await moorage('stop', 'first', 'second', '--wait', '--timeout', '200s')).code).toBe(0);
    expect((await moorage('check')).stdout).toContain('no violation of');
  });

  it('what makes no sense is told', async () => {
    expect((await moorage('quota', 'set', 'default')).code).toBe(64);
    expect((await moorage('quota', 'set', 'default', '--memory', '64')).code).toBe(64);
    const bad = await moorage('quota', 'set', 'No_Name', '--cpu', '1');
    expect(bad.stderr).toContain('namespace: use lower-case letters');
  });
});

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition()));
}
