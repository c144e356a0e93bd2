import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runScheduler } from '../../schedulers/main.ts';
import { EtcdCellStore } from '../../src/adapters/etcd/etcd.ts';
import { startEtcd } from '../../src/adapters/etcd/server/server.ts';
import { findEtcd } from '../../src/adapters/etcd/server/find-etcd.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import { seededRandom } from '../../src/core/random/random.ts';
import { parseJobObject } from '../../src/wire/job-file/job-file.ts';
import { hostCodec, jobCodec } from '../../src/wire/records/records.ts';
import { largeHost } from '../testbed/large-cell.ts';

/**
 * How long ten tasks of one tenant wait until they are durable: in an idle cell, and while the scheduler works on 15,000
 * tasks of another tenant. The real scheduler on a real etcd; hosts are only written, and answer no order.
 */
const { values } = parseArgs({
  options: {
    hosts: { type: 'string', default: '2000' },
    large: { type: 'string', default: '15000' },
    seed: { type: 'string', default: '1' },
  },
});
const [hosts, large] = [Number(values.hosts), Number(values.large)];
const SMALL = 10;
const CELL = 'bench';
const keys = cellKeys(CELL);
const folder = mkdtempSync(join(tmpdir(), 'moorage-bench-'));
const etcd = await startEtcd({
  binary: (await findEtcd({ env: process.env })).path,
  dataFolder: join(folder, 'etcd'),
});
const store = new EtcdCellStore({ endpoints: [etcd.clientUrl], clock: systemClock, log: silentLog });
const silentHost = createServer(() => undefined);
await new Promise<void>((resolve) => silentHost.listen(0, '127.0.0.1', resolve));

async function writeHosts(): Promise<void> {
  const random = seededRandom(Number(values.seed));
  const address = `http://127.0.0.1:${String((silentHost.address() as AddressInfo).port)}`;
  for (let n = 0; n < hosts;) {
    const writes = [];
    for (; n < hosts && writes.length < 100; n++) {
      const host = { ...largeHost(n, random), address };
      writes.push(
        { kind: 'put' as const, key: keys.host(host.id), value: hostCodec.encode(host) },
        { kind: 'put' as const, key: keys.aliveOf(host.id), value: '{}' },
      );
    }
    await store.attempt({ compares: [], writes, readBack: [] });
  }
}

async function submit(namespace: string, name: string, count: number): Promise<void> {
  const work = { command: ['x'], resources: { cpu: '1m', memory: '1Mi' } };
  const read = parseJobObject({ name, namespace, type: 'batch', count, ...work });
  if (!read.ok) throw new Error('the job of the benchmark cannot be read');
  const value = jobCodec.encode({ job: read.job, version: 1, desired: 'run', submittedAtMs: Date.now() });
  await store.attempt({
    ...{ compares: [], writes: [{ kind: 'put', key: keys.job(namespace, name), value }], readBack: [] },
  });
}

/** Allocations of each namespace that are durable, and who waits for how many. */
const durable = new Map<string, number>();
const waiting = new Set<{
  readonly namespace: string;
  readonly count: number;
  readonly resolve: () => void;
}>();
const following = store.follow(keys.allocations, {
  onSnapshot: () => undefined,
  onChanges: (changes) => {
    for (const change of changes) {
      const isNew = change.kind === 'put' && change.entry.createRevision === change.entry.modRevision;
      const namespace = isNew ? (change.entry.key.slice(keys.allocations.length).split('/')[0] ?? '') : '';
      if (isNew) durable.set(namespace, (durable.get(namespace) ?? 0) + 1);
    }
    for (const one of waiting)
      if ((durable.get(one.namespace) ?? 0) >= one.count && waiting.delete(one)) one.resolve();
  },
});
const placed = (namespace: string, count: number): Promise<void> =>
  new Promise((resolve) => waiting.add({ namespace, count, resolve }));

async function measure(name: string): Promise<number> {
  const startedMs = performance.now();
  await submit(name, name, SMALL);
  await placed(name, SMALL);
  return performance.now() - startedMs;
}

await writeHosts();
await following.ready;
const scheduler = await runScheduler({
  ...{ id: 'batch-1', kind: 'batch', cell: CELL, etcd: [etcd.clientUrl], enforcement: false, log: silentLog },
  listen: { host: '127.0.0.1', port: 0 },
});
try {
  await measure('warm-up');
  const alone = await measure('alone');
  await submit('large', 'large', large);
  await placed('large', 1);
  const beside = await measure('beside');
  const then = durable.get('large') ?? 0;
  const startedMs = performance.now();
  await placed('large', large);
  const rest = performance.now() - startedMs;
  process.stdout.write(
    `fairness hosts=${String(hosts)} small=${String(SMALL)} large=${String(large)} alone-ms=${alone.toFixed(1)} ` +
      `beside-ms=${beside.toFixed(1)} large-placed-then=${String(then)} rest-of-large-ms=${rest.toFixed(0)} seed=${values.seed}\n`,
  );
} finally {
  following.close();
  await scheduler.stop();
  await store.close();
  silentHost.closeAllConnections();
  silentHost.close();
  await etcd.stop();
  rmSync(folder, { recursive: true, force: true });
}
