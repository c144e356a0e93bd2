import type { Host } from '../../src/core/host/host.ts';
import type { Resources } from '../../src/core/cell/resources.ts';
import type { CellStore, Write } from '../../src/ports/cell-store.ts';
import { startBed } from '../testbed/testbed.ts';
import { fill, makeAllocation, recordsOf } from '../testbed/fill.ts';
import { amounts } from '../testbed/plain-request.ts';
import { percentile } from '../testbed/percentile.ts';
import { Hosts } from './hosts.ts';
import { Durable, keys, smallJobMs, startScheduler, submit } from './scheduler.ts';
import { flagsOf } from '../testbed/flags.ts';

/**
 * How long a gang takes that preempts half as many allocations, from its submission until all of it is effective; and how long
 * ten tasks of another namespace wait meanwhile, one job of them after the other. The hosts are in memory. The CPU is that of
 * the scheduler and the hosts together.
 *
 *   npm run bench -- gang-eviction [--members 1000,10000] [--kinds batch,service,distinct,spread]
 *
 * `distinct`: each member on a host of its own, so that there are as many hosts; `spread`: over a hundred racks. Both are batch jobs.
 */
const flags = flagsOf({ members: '1000,10000', kinds: 'batch' });
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

function hostOf(id: string, address: string, capacity: Resources): Host {
  return {
    ...{ id, address, capacity, reserved: amounts(0, 0), gpuModels: [] },
    ...{ portRange: { first: 20_000, last: 20_100 } },
    attributes: { os: 'linux', 'driver.exec': 'true', rack: `r${String(Number(id.slice(-6)) % RACKS)}` },
    ...{ bootId: 'b', incarnation: 1, agentVersion: '0' },
  };
}

function writesOf(n: number, hosts: Hosts): Write[] {
  const id = `host-${String(n).padStart(6, '0')}`;
  const cpuMilli = 1_000 * SHARES_A_HOST;
  const host = hostOf(id, hosts.addressOf(id), amounts(cpuMilli, 1_000 * SHARES_A_HOST));
  const running = Array.from({ length: VICTIMS_A_HOST }, (_, at) => {
    const index = n * VICTIMS_A_HOST + at;
    return makeAllocation({
      id: `01hf7yat00${String(index).padStart(16, '0')}`,
      ...{ host: id, precedence: 10, resources: amounts(cpuMilli / VICTIMS_A_HOST, 100) },
      ...{ job: 'low', group: 'low', index, scheduler: 'service-1', planId: 'p' },
    });
  });
  hosts.run(id, running);
  return [aliveOf(id), ...recordsOf(keys, host, running)];
}

const aliveOf = (id: string): Write => ({ kind: 'put', key: keys.aliveOf(id), value: '{}' });

async function fillCell(store: CellStore, hosts: Hosts, count: number): Promise<void> {
  await fill(store, SPARE_HOSTS, (n) => {
    const id = `spare-${String(n)}`;
    return [aliveOf(id), ...recordsOf(keys, hostOf(id, hosts.addressOf(id), amounts(64_000, 500)), [])];
  });
  await fill(store, count, (n) => writesOf(n, hosts));
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
  await fillCell(store, hosts, hostsCount);
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

const kinds = flags.kinds.split(',');
if (!kinds.every(isKind)) throw new Error(`--kinds takes ${Object.keys(KINDS).join(', ')}`);
for (const members of flags.members.split(',').map(Number))
  for (const kind of kinds) await measure(members, kind);
