import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EtcdCellStore } from '../../src/adapters/etcd/etcd.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { runCli, startDevCell, testFolder } from '../support/cli.ts';

const folder = testFolder();
let cell: DevCellProcess;

beforeAll(async () => {
  cell = await startDevCell(folder.path, ['--hosts', '1', '--monitors', '1']);
});

afterAll(async () => {
  await cell.stop();
  folder[Symbol.dispose]();
});

const role = (kind: string, ...args: string[]) =>
  runCli([kind, '--cell', cell.file.cell, '--etcd', cell.file.etcd[0] ?? '', ...args], { cwd: folder.path });

const dataOf = (name: string) => join(folder.path, '.moorage', 'cells', 'dev', 'hosts', name);
const keys = () => join(folder.path, '.moorage', 'cells', 'dev', 'keys');

describe('a role that cannot start says why, in one line with a remedy', () => {
  it('S2.19 a second agent on the same state folder', async () => {
    const second = await role('agent', '--id', 'host-9', '--data', dataOf('host-1'), '--keys', keys());
    expect(second.code).not.toBe(0);
    expect(second.stderr).toMatch(/in use|another agent|holds/);
    expect(second.stderr).toMatch(/next: /);
  });

  it('a second agent with the id of a living one', async () => {
    const second = await role('agent', '--id', 'host-1', '--data', dataOf('other'), '--keys', keys());
    expect(second.code).not.toBe(0);
    expect(second.stderr).toMatch(/host-1/);
  });

  it('a port that is taken', async () => {
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
    const { port } = holder.address() as AddressInfo;
    const result = await role('monitor', '--id', 'monitor-9', '--listen', `127.0.0.1:${String(port)}`);
    holder.close();
    expect(result.code).toBe(4);
    expect(result.stderr).toMatch(/the port is taken/);
    expect(result.stderr).toMatch(/--listen/);
  });

  it('an etcd that is down', async () => {
    const args = ['monitor', '--cell', 'dev', '--etcd', 'http://127.0.0.1:9', '--id', 'monitor-9'];
    const result = await runCli(args, { cwd: folder.path });
    expect(result.code).toBe(4);
    expect(result.stderr).toMatch(/etcd/);
  });

  it('a cell with a schema that is not ours', async () => {
    const store = new EtcdCellStore({ endpoints: cell.file.etcd, clock: systemClock, log: silentLog });
    const value = JSON.stringify({ v: 1, schema: 999, incarnation: 'somebody-elses', createdAtMs: 1 });
    await store.attempt({
      compares: [],
      writes: [{ kind: 'put', key: cellKeys('future').meta, value }],
      readBack: [],
    });
    await store.close();
    for (const kind of ['monitor', 'arbiter']) {
      const args = [
        kind,
        '--cell',
        'future',
        '--etcd',
        cell.file.etcd[0] ?? '',
        '--id',
        'x',
        '--keys',
        keys(),
      ];
      const result = await runCli(kind === 'monitor' ? args.slice(0, -2) : args, { cwd: folder.path });
      expect(result.code).toBe(4);
      expect(result.stderr).toMatch(/schema/);
    }
  });
});
