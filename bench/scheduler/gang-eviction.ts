import { parseArgs } from 'node:util';
import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { Host } from '../../src/core/host/host.ts';
import { EMPTY_LEDGER, withClaim } from '../../src/core/fit/ledger.ts';
import type { Resources } from '../../src/core/cell/resources.ts';
import type { CellStore, Write } from '../../src/ports/cell-store.ts';
import { allocationCodec, hostCodec, ledgerCodec } from '../../src/wire/records/records.ts';
import { startBed } from '../testbed/testbed.ts';
import { amounts } from '../testbed/plain-request.ts';
import { percentile } from '../testbed/percentile.ts';
import { Hosts } from './hosts.ts';
import { Durable, keys, smallJobMs, startScheduler, submit } from './scheduler.ts';

/**
 * How long a gang takes that preempts half as many allocations, from its submission until all of it is effective; and how long
 * ten tasks of another namespace wait meanwhile, one job of them after the other. The hosts are in memory. The CPU is that of
 * the scheduler and the hosts together.
 *
 *   npm run bench -- gang-eviction [--members 1000,10000] [--kinds batch,service,distinct,spread]
 *
 * `distinct`: each member on a host of its own, so that there are as many hosts; `spread`: over a hundred racks. Both are batch jobs.
 */
const { values } = parseArgs({
  options: {
    members: { type: 'string', default: '1000,10000' },
    kinds: { type: 'string', default: 'batch' },
  },
});
/** What the gang asks for beside its resources, and how many of its members a host takes. */
const KINDS = {
  batch: { preferences: {}, membersAHost: 5 },
  service: { preferences: {}, membersAHost: 5 },
  distinct: { preferences: { distinct: ['host.id'] }, membersAHost: 1 },
  spread: { preferences: { spread: [{ by: 'host.rack', weight: 50 }] }, membersAHost: 5 },
} as const;
type Kind = keyof typeof KINDS;
const typeOf = (kind: Kind): 'service' | 'batch' => (kind === 'service' ? 'service' : 'batch');
const SHARES_A_HOST = 5;
const RACKS = 100;
const VICTIMS_A_HOST = 2;
/** Hosts for the small jobs, without the memory that a member needs. */
const SPARE_HOSTS = 100;
const INCARNATION = '6b1e7a3c-0000-4000-8000-000000000000';

function hostOf(id: string, address: string, capacity: Resources): Host {
  return {
    ...{ id, address, capacity, reserved: amounts(0, 0), gpuModels: [] },
    ...{ portRange: { first: 20_000, last: 20_100 } },
    attributes: { os: 'linux', 'driver.exec': 'true', rack: `r${String(Number(id.slice(-6)) % RACKS)}` },
    ...{ bootId: 'b', incarnation: 1, agentVersion: '0' },
  };
}

function victim(host: string, n: number, resources: Resources): Allocation {
  return {
    ...{
      id: `01hf7yat00${String(n).padStart(16, '0')}`,
      host,
      precedence: 10,
      resources,
      gpus: [],
      ports: {},
    },
    ...{ namespace: 'default', job: 'low', jobVersion: 1, group: 'low', index: n, attempt: 1 },
    ...{ scheduler: 'service-1', desired: 'run', planId: 'p', createdAtMs: 1_700_000_000_000 },
    epoch: { incarnation: INCARNATION, counter: 0 },
  };
}

function writesOf(n: number, hosts: Hosts): Write[] {
  const id = `host-${String(n).padStart(6, '0')}`;
  const cpuMilli = 1_000 * SHARES_A_HOST;
  const host = hostOf(id, hosts.addressOf(id), amounts(cpuMilli, 1_000 * SHARES_A_HOST));
  const share = amounts(cpuMilli / VICTIMS_A_HOST, 100);
  const running = Array.from({ length: VICTIMS_A_HOST }, (_, at) =>
    victim(id, n * VICTIMS_A_HOST + at, share),
  );
  hosts.run(id, running);
  const put = (key: string, value: string): Write => ({ kind: 'put', key, value });
  return [
    put(keys.host(id), hostCodec.encode(host)),
    put(keys.aliveOf(id), '{}'),
    put(keys.ledger(id), ledgerCodec.encode(running.reduce(withClaim, EMPTY_LEDGER))),
    ...running.map((one) => put(keys.allocation('default', 'low', one.id), allocationCodec.encode(one))),
  ];
}

async function fill(store: CellStore, hosts: Hosts, count: number): Promise<void> {
  const spare = Array.from({ length: SPARE_HOSTS }, (_, n): Write[] => {
    const id = `spare-${String(n)}`;
    const host = hostOf(id, hosts.addressOf(id), amounts(64_000, 500));
    return [
      { kind: 'put', key: keys.host(id), value: hostCodec.encode(host) },
      { kind: 'put', key: keys.aliveOf(id), value: '{}' },
    ];
  });
  const writes = [...spare.flat(), ...Array.from({ length: count }, (_, n) => writesOf(n, hosts)).flat()];
  while (writes.length > 0)
    await store.attempt({ compares: [], writes: writes.splice(0, store.limits.operationsMax), readBack: [] });
}

/** One small job after the other, as long as it is wanted. @returns how long each waited, ms */
async function smallJobs(
  store: CellStore,
  durable: Durable,
  name: string,
  type: 'service' | 'batch',
  wanted: (n: number) => boolean,
): Promise<number[]> {
  const waits: number[] = [];
  for (let n = 0; wanted(n); n++) waits.push(await smallJobMs(store, durable, `${name}-${String(n)}`, type));
  return waits.sort((a, b) => a - b);
}

async function measure(members: number, kind: Kind): Promise<void> {
  const type = typeOf(kind);
  const { preferences, membersAHost } = KINDS[kind];
  const bed = await startBed();
  const { store } = bed;
  const hosts = new Hosts();
  await hosts.listen();
  const hostsCount = Math.ceil(members / membersAHost);
  await fill(store, hosts, hostsCount);
  const durable = new Durable(store);
  await durable.ready;
  const scheduler = await startScheduler(bed, 'scheduler-1', type);
  try {
    const alone = await smallJobs(store, durable, 'alone', type, (n) => n < 20);
    const cpu = process.cpuUsage();
    const startedMs = performance.now();
    const task = { resources: { cpu: '1000m', memory: '1000Mi' } };
    await submit(store, 'gang', { type, priority: 80, count: members, gang: true, ...task, ...preferences });
    let isDone = false;
    const beside = smallJobs(store, durable, 'beside', type, () => !isDone);
    await durable.until(() => durable.of('gang') >= 1);
    const searchMs = performance.now() - startedMs;
    await durable.until(() => durable.of('gang') >= members && durable.intents === 0);
    const wholeMs = performance.now() - startedMs;
    const { user, system } = process.cpuUsage(cpu);
    isDone = true;
    const waits = await beside;
    process.stdout.write(
      `gang-eviction members=${String(members)} kind=${kind} hosts=${String(hostsCount)} ` +
        `victims=${String(hostsCount * VICTIMS_A_HOST)} first-reserved-ms=${searchMs.toFixed(0)} ` +
        `effective-ms=${wholeMs.toFixed(0)} cpu-ms=${((user + system) / 1000).toFixed(0)} ` +
        `cpu-us-a-member=${((user + system) / members).toFixed(0)} small-jobs=${String(waits.length)} ` +
        `small-alone-p50-ms=${percentile(alone, 0.5).toFixed(0)} small-beside-p50-ms=${percentile(waits, 0.5).toFixed(0)} ` +
        `small-beside-max-ms=${(waits.at(-1) ?? 0).toFixed(0)} watches-broken=${String(durable.broken)}\n`,
    );
  } finally {
    durable.close();
    await scheduler.stop();
    hosts.close();
    await bed.close();
  }
}

function isKind(name: string): name is Kind {
  return Object.hasOwn(KINDS, name);
}

const kinds = values.kinds.split(',');
if (!kinds.every(isKind)) throw new Error(`--kinds takes ${Object.keys(KINDS).join(', ')}`);
for (const members of values.members.split(',').map(Number))
  for (const kind of kinds) await measure(members, kind);
