import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EtcdCellStore } from '../../src/adapters/etcd/etcd.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { issueFor, ONE_OF_EACH, runCli, startDevCell, testFolder } from '../support/cli.ts';
import { useEtcd } from '../support/etcd.ts';

const folder = testFolder();
/** Of a stranger: that of the cell lets in nobody without a certificate. */
const etcd = useEtcd();
let cell: DevCellProcess;

beforeAll(async () => {
  cell = await startDevCell(folder.path, ONE_OF_EACH);
});

afterAll(async () => {
  await cell.stop();
  folder[Symbol.dispose]();
});

const role = async (kind: string, id: string, ...args: string[]) => {
  const place = ['--cell', cell.file.cell, '--etcd', cell.file.etcd[0] ?? ''];
  const shown = ['--credentials', await issueFor(cell, kind, id)];
  return runCli([kind, ...place, '--id', id, ...shown, ...args], { cwd: folder.path });
};

const dataOf = (name: string) => join(folder.path, '.moorage', 'cells', 'dev', 'hosts', name);
const keys = () => join(folder.path, '.moorage', 'cells', 'dev', 'keys');

describe('a role that cannot start says why, in one line with a remedy', () => {
  it('S2.19 a second agent on the same state folder', async () => {
    const second = await role('agent', 'host-9', '--data', dataOf('host-1'), '--keys', keys());
    expect(second.code).not.toBe(0);
    expect(second.stderr).toMatch(/in use|another agent|holds/);
    expect(second.stderr).toMatch(/next: /);
  });

  it('a second agent with the id of a living one', async () => {
    const second = await role('agent', 'host-1', '--data', dataOf('other'), '--keys', keys());
    expect(second.code).not.toBe(0);
    expect(second.stderr).toMatch(/host-1/);
  });

  it('a port that is taken', async () => {
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
    const { port } = holder.address() as AddressInfo;
    const result = await role('monitor', 'monitor-9', '--listen', `127.0.0.1:${String(port)}`);
    holder.close();
    expect(result.code).toBe(4);
    expect(result.stderr).toMatch(/the port is taken/);
    expect(result.stderr).toMatch(/--listen/);
  });

  it('S4.13 the certificate of another role, another id, another cell', async () => {
    const credentials = await issueFor(cell, 'scheduler', 'batch-9');
    const start = (...args: string[]) =>
      runCli([...args, '--credentials', credentials, '--etcd', cell.file.etcd[0] ?? ''], {
        cwd: folder.path,
      });
    const kind = ['scheduler', '--kind', 'batch', '--cell', cell.file.cell];
    for (const wrong of [
      await start('monitor', '--cell', cell.file.cell),
      await start(...kind, '--id', 'batch-8'),
      await start('scheduler', '--kind', 'batch', '--cell', 'other'),
    ]) {
      expect(wrong.code).toBe(64);
      expect(wrong.stderr).toMatch(/its certificate is of scheduler batch-9/);
    }
  });

  it('S4.13 who has no certificate is let in by nobody of the cell', async () => {
    const bare = { cwd: folder.path, env: { MOORAGE_ADDR: cell.file.monitors.join(',') } };
    expect((await runCli(['ps'], bare)).code).toBe(0);
    const outside = testFolder();
    const asked = await runCli(['ps'], { ...bare, cwd: outside.path });
    outside[Symbol.dispose]();
    expect(asked.code).toBe(4);
    const joined = await runCli(
      ['monitor', '--cell', 'dev', '--etcd', cell.file.etcd[0] ?? '', '--id', 'm9'],
      {
        cwd: folder.path,
      },
    );
    expect(joined.code).toBe(4);
    expect(joined.stderr).toMatch(/etcd/);
  });

  it('an etcd that is down', async () => {
    const args = ['monitor', '--cell', 'dev', '--etcd', 'http://127.0.0.1:9', '--id', 'monitor-9'];
    const result = await runCli(args, { cwd: folder.path });
    expect(result.code).toBe(4);
    expect(result.stderr).toMatch(/etcd/);
  });

  it('a cell with a schema that is not ours', async () => {
    const store = new EtcdCellStore({ endpoints: [etcd.url], clock: systemClock, log: silentLog });
    const value = JSON.stringify({ v: 1, schema: 999, incarnation: 'somebody-elses', createdAtMs: 1 });
    await store.attempt({
      compares: [],
      writes: [{ kind: 'put', key: cellKeys('future').meta, value }],
      readBack: [],
    });
    await store.close();
    for (const kind of ['monitor', 'arbiter']) {
      const args = [kind, '--cell', 'future', '--etcd', etcd.url, '--id', 'x', '--keys', keys()];
      const result = await runCli(kind === 'monitor' ? args.slice(0, -2) : args, { cwd: folder.path });
      expect(result.code).toBe(4);
      expect(result.stderr).toMatch(/schema/);
    }
  });
});
