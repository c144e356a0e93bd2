import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { DevCellProcess } from '../support/cli.ts';
import { ONE_OF_EACH, runCli, startDevCell, testFolder } from '../support/cli.ts';

const folder = testFolder();
/** More than the sockets between here and the host hold. */
const file = Buffer.alloc(64 * 1024 * 1024, 'moorage');
const answers: ServerResponse[] = [];
let server: Server;
let cell: DevCellProcess;

const moorage = (...args: readonly string[]) => runCli(args, { cwd: folder.path });

beforeAll(async () => {
  server = createServer((_, answer) => {
    answers.push(answer);
    answer.end(file);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  cell = await startDevCell(folder.path, [...ONE_OF_EACH, '--hosts', '2']);
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  expect((await cell.stop()).code).toBe(0);
  folder[Symbol.dispose]();
});

describe('the rate at which the hosts of a cell fetch', () => {
  it('S3.35 with none nothing is fetched and the job waits; with some it starts', async () => {
    const set = ['shared', 'set', 'uplink', '--unit', 'MB/s', '--rate', 'fetch', '--capacity'] as const;
    expect((await moorage(...set, '0')).stdout).toBe('uplink\n');
    const { port } = server.address() as AddressInfo;
    const sha256 = createHash('sha256').update(file).digest('hex');
    const job = {
      ...{ name: 'reader', type: 'batch', count: 2, distinct: ['host.id'] },
      script: 'wc -c <"$MOORAGE_ARTIFACT_DATA"',
      artifacts: { data: { source: `http://127.0.0.1:${String(port)}/data`, sha256 } },
    };
    writeFileSync(join(folder.path, 'reader.yaml'), JSON.stringify(job));
    expect((await moorage('run', '-d', join(folder.path, 'reader.yaml'))).stderr).toBe('');
    await vi.waitFor(() => expect(answers).toHaveLength(2), { timeout: 60_000, interval: 50 });
    await vi.waitFor(async () => expect((await moorage('ps', 'reader')).stdout).toMatch(/preparing/), {
      timeout: 60_000,
    });
    expect(answers.map(({ writableFinished }) => writableFinished)).toEqual([false, false]);
    expect((await moorage('shared')).stdout).toMatch(/uplink +the cell +cell +0 at most +MB\/s/);
    expect((await moorage(...set, '500')).code).toBe(0);
    expect((await moorage('wait', 'reader', '--timeout', '100s')).code).toBe(0);
    expect((await moorage('logs', 'reader')).stdout).toContain(String(file.length));
    expect((await moorage('check')).stdout).toContain('no violation of');
  });

  it('a job asks nothing of a rate', async () => {
    const job = { name: 'asks', type: 'batch', script: 'true', resources: { shared: { uplink: 1 } } };
    writeFileSync(join(folder.path, 'asks.yaml'), JSON.stringify(job));
    expect((await moorage('run', '-d', join(folder.path, 'asks.yaml'))).code).toBe(0);
    await vi.waitFor(
      async () => expect((await moorage('why', 'asks')).stdout).toContain('no shared resource uplink'),
      {
        timeout: 60_000,
      },
    );
  });
});
