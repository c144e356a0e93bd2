import type { AddressInfo } from 'node:net';
import { createServer } from 'node:http';
import { seededRandom } from '../../src/core/random/random.ts';
import { hostCodec } from '../../src/wire/records/records.ts';
import { startBed } from '../testbed/testbed.ts';
import { largeHost } from '../testbed/large-cell.ts';
import { Durable, keys, SMALL, smallJobMs, startScheduler, submit } from './scheduler.ts';
import { flagsOf } from '../testbed/flags.ts';

/**
 * How long ten tasks of one namespace wait until they are durable: in an idle cell, and while the scheduler places 15,000
 * tasks of another namespace. The hosts are records only, and answer no call.
 */
const { hosts, large, seed } = flagsOf({ hosts: 2_000, large: 15_000, seed: 1 });
const bed = await startBed();
const { store } = bed;
const silentHost = createServer(() => undefined);
await new Promise<void>((resolve) => silentHost.listen(0, '127.0.0.1', resolve));

async function writeHosts(): Promise<void> {
  const random = seededRandom(seed);
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

await writeHosts();
const durable = new Durable(store);
await durable.ready;
const scheduler = await startScheduler(bed, 'batch-1', 'batch');
const measure = (namespace: string): Promise<number> => smallJobMs(store, durable, namespace, 'batch');
try {
  await measure('warm-up');
  const alone = await measure('alone');
  await submit(store, 'large', { type: 'batch', count: large, resources: { cpu: '1m', memory: '1Mi' } });
  await durable.until(() => durable.of('large') >= 1);
  const beside = await measure('beside');
  const then = durable.of('large');
  const startedMs = performance.now();
  await durable.until(() => durable.of('large') >= large);
  const rest = performance.now() - startedMs;
  process.stdout.write(
    `fairness hosts=${String(hosts)} small=${String(SMALL)} large=${String(large)} alone-ms=${alone.toFixed(1)} ` +
      `beside-ms=${beside.toFixed(1)} large-placed-then=${String(then)} rest-of-large-ms=${rest.toFixed(0)} seed=${String(seed)}\n`,
  );
} finally {
  durable.close();
  await scheduler.stop();
  silentHost.closeAllConnections();
  silentHost.close();
  await bed.close();
}
