import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { json } from 'node:stream/consumers';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runScheduler } from '../../schedulers/main.ts';
import { EtcdCellStore } from '../../src/adapters/etcd/etcd.ts';
import { startEtcd } from '../../src/adapters/etcd/server/server.ts';
import { findEtcd } from '../../src/adapters/etcd/server/find-etcd.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { Host } from '../../src/core/host/host.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import { EMPTY_LEDGER, withClaim } from '../../src/core/fit/ledger.ts';
import type { Resources } from '../../src/core/cell/resources.ts';
import { NO_SCALARS } from '../../src/core/cell/resources.ts';
import type { Write } from '../../src/ports/cell-store.ts';
import { parseJobObject } from '../../src/wire/job-file/job-file.ts';
import { allocationCodec, hostCodec, jobCodec, ledgerCodec } from '../../src/wire/records/records.ts';
import { percentile } from '../testbed/percentile.ts';

/**
 * How long a gang takes for which half as many must give way, from its job to the moment all of it is effective; and how
 * long ten tasks of another tenant wait meanwhile, one job of them after the other. A real scheduler on a real etcd; the
 * hosts say what runs on them and start what they are told, in memory alone. The CPU is the scheduler's and the hosts' together.
 *
 *   node dist/bench/scheduler/gang-eviction.js [--members 1000,10000] [--kinds batch,service,distinct,spread]
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
  batch: { wishes: {}, membersAHost: 5 },
  service: { wishes: {}, membersAHost: 5 },
  distinct: { wishes: { distinct: ['host.id'] }, membersAHost: 1 },
  spread: { wishes: { spread: [{ by: 'host.rack', weight: 50 }] }, membersAHost: 5 },
} as const;
type Kind = keyof typeof KINDS;
const typeOf = (kind: Kind): 'service' | 'batch' => (kind === 'service' ? 'service' : 'batch');
const SHARES_A_HOST = 5;
const RACKS = 100;
const VICTIMS_A_HOST = 2;
/** Hosts for the small jobs, without the memory that a member needs. */
const SPARE_HOSTS = 100;
const SMALL = 10;
const keys = cellKeys('bench');
const INCARNATION = '6b1e7a3c-0000-4000-8000-000000000000';

const amounts = (cpuMilli: number, memoryMib: number): Resources => ({
  ...{ cpuMilli, memoryMib, diskMib: 0, scalars: NO_SCALARS },
});

/**
 * All hosts, told apart by the first part of the path: they say what runs there and start what they are told, and no more. Each
 * has an address of its own, as a client keeps no more than some connections to one.
 */
class Hosts {
  readonly #running = new Map<string, Map<string, Allocation>>();
  #addresses = 0;
  readonly #server = createServer((request, response) => {
    const { method, url = '' } = request;
    const [, host = '', , , id] = url.split('/');
    if (method === 'PUT') void this.#start(host, request, response);
    else if (url.includes('/v1/reports')) this.#report(host, response);
    else if (method === 'GET' && id === undefined) answer(response, this.#listing(host));
    else if (method === 'GET') this.#tell(host, id ?? '', response);
    else this.#stop(host, id ?? '', response);
  });

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '0.0.0.0', resolve));
  }

  addressOf(id: string): string {
    const n = ++this.#addresses;
    const address = `127.1.${String(n >> 8)}.${String(n & 255)}`;
    return `http://${address}:${String((this.#server.address() as AddressInfo).port)}/${id}`;
  }

  run(id: string, allocations: readonly Allocation[]): void {
    this.#running.set(id, new Map(allocations.map((allocation) => [allocation.id, allocation])));
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #listing(host: string) {
    const running = [...(this.#running.get(host)?.values() ?? [])];
    return {
      ...{ host, incarnation: 1, seq: 1 },
      allocations: running.map((allocation) => ({ ...allocation, ...RUNNING })),
    };
  }

  /** What runs when somebody begins to listen; nothing changes later but by starts, of which who ordered them knows. */
  #report(host: string, response: ServerResponse): void {
    response.setHeader('content-type', 'application/x-ndjson');
    response.write(`${JSON.stringify({ ...this.#listing(host), kind: 'full' })}\n`);
  }

  #tell(host: string, id: string, response: ServerResponse): void {
    const allocation = this.#running.get(host)?.get(id);
    if (allocation === undefined) answer(response, { status: 404, code: 'no-allocation', detail: id }, 404);
    else answer(response, { ...allocation, ...RUNNING });
  }

  #stop(host: string, id: string, response: ServerResponse): void {
    const allocation = this.#running.get(host)?.get(id);
    this.#running.get(host)?.delete(id);
    answer(response, { ...allocation, ...RUNNING, state: 'killed', released: true });
  }

  async #start(host: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { allocation } = (await json(request)) as { allocation: Allocation };
    const running = this.#running.get(host) ?? new Map<string, Allocation>();
    this.#running.set(host, running.set(allocation.id, allocation));
    answer(response, { report: { ...allocation, ...RUNNING } });
  }
}

const RUNNING = { state: 'running', released: false, reason: '', restarts: 0, tasks: {} };

function answer(response: ServerResponse, body: unknown, status = 200): void {
  response.statusCode = status;
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(body));
}

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

async function fill(store: EtcdCellStore, hosts: Hosts, count: number): Promise<void> {
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

/** Follows what is durable: allocations of each namespace, and intents, which go when their gang is effective. */
class Durable {
  readonly ready: Promise<unknown>;
  /** Of each namespace, the keys that have been there: a watch that breaks begins with a snapshot again. */
  readonly #allocations = new Map<string, Set<string>>();
  readonly #waiting = new Set<{ readonly holds: () => boolean; readonly resolve: () => void }>();
  readonly #following: readonly { readonly ready: Promise<void>; close(): void }[];
  #intents = new Set<string>();
  #snapshots = 0;

  constructor(store: EtcdCellStore) {
    const allocations = store.follow(keys.allocations, {
      onSnapshot: ({ entries }) => {
        this.#snapshots += 1;
        for (const key of entries.keys()) this.#add(key);
        this.#wake();
      },
      onChanges: (changes) => {
        for (const change of changes) if (change.kind === 'put') this.#add(change.entry.key);
        this.#wake();
      },
    });
    const intents = store.follow(keys.intents, {
      onSnapshot: ({ entries }) => {
        this.#intents = new Set(entries.keys());
        this.#wake();
      },
      onChanges: (changes) => {
        for (const change of changes)
          if (change.kind === 'delete') this.#intents.delete(change.key);
          else this.#intents.add(change.entry.key);
        this.#wake();
      },
    });
    this.#following = [allocations, intents];
    this.ready = Promise.all([allocations.ready, intents.ready]);
  }

  of(namespace: string): number {
    return this.#allocations.get(namespace)?.size ?? 0;
  }

  get intents(): number {
    return this.#intents.size;
  }

  /** How often the allocations were read anew because their watch had broken. */
  get broken(): number {
    return this.#snapshots - 1;
  }

  until(holds: () => boolean): Promise<void> {
    if (holds()) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.add({ holds, resolve }));
  }

  close(): void {
    for (const one of this.#following) one.close();
  }

  #add(key: string): void {
    const namespace = key.slice(keys.allocations.length).split('/')[0] ?? '';
    const known = this.#allocations.get(namespace);
    if (known === undefined) this.#allocations.set(namespace, new Set([key]));
    else known.add(key);
  }

  #wake(): void {
    for (const one of this.#waiting) if (one.holds() && this.#waiting.delete(one)) one.resolve();
  }
}

async function submit(store: EtcdCellStore, namespace: string, job: Record<string, unknown>): Promise<void> {
  const read = parseJobObject({ ...job, name: namespace, namespace, command: ['x'] });
  if (!read.ok) throw new Error(`the job of the benchmark cannot be read: ${JSON.stringify(read)}`);
  const value = jobCodec.encode({ job: read.job, version: 1, desired: 'run', submittedAtMs: Date.now() });
  const writes: Write[] = [{ kind: 'put', key: keys.job(namespace, namespace), value }];
  await store.attempt({ compares: [], writes, readBack: [] });
}

/** One job of ten tasks after the other, as long as it is wanted. @returns how long each waited, ms */
async function smallJobs(
  store: EtcdCellStore,
  durable: Durable,
  name: string,
  type: 'service' | 'batch',
  wanted: (n: number) => boolean,
): Promise<number[]> {
  const waits: number[] = [];
  for (let n = 0; wanted(n); n++) {
    const namespace = `${name}-${String(n)}`;
    const startedMs = performance.now();
    const resources = { cpu: '1m', memory: '1Mi' };
    await submit(store, namespace, { type, count: SMALL, resources });
    await durable.until(() => durable.of(namespace) >= SMALL);
    waits.push(performance.now() - startedMs);
  }
  return waits.sort((a, b) => a - b);
}

async function measure(members: number, kind: Kind): Promise<void> {
  const type = typeOf(kind);
  const { wishes, membersAHost } = KINDS[kind];
  const folder = mkdtempSync(join(tmpdir(), 'moorage-bench-'));
  const binary = (await findEtcd({ env: process.env })).path;
  const etcd = await startEtcd({ binary, dataFolder: join(folder, 'etcd') });
  const store = new EtcdCellStore({ endpoints: [etcd.clientUrl], clock: systemClock, log: silentLog });
  const hosts = new Hosts();
  await hosts.listen();
  const hostsCount = Math.ceil(members / membersAHost);
  await fill(store, hosts, hostsCount);
  const durable = new Durable(store);
  await durable.ready;
  const scheduler = await runScheduler({
    ...{ id: 'scheduler-1', kind: type, cell: 'bench', etcd: [etcd.clientUrl], enforcement: false },
    ...{ log: silentLog, listen: { host: '127.0.0.1', port: 0 } },
  });
  try {
    const alone = await smallJobs(store, durable, 'alone', type, (n) => n < 20);
    const cpu = process.cpuUsage();
    const startedMs = performance.now();
    const task = { resources: { cpu: '1000m', memory: '1000Mi' } };
    await submit(store, 'gang', { type, priority: 80, count: members, gang: true, ...task, ...wishes });
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
    await store.close();
    hosts.close();
    await etcd.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function isKind(name: string): name is Kind {
  return Object.hasOwn(KINDS, name);
}

const kinds = values.kinds.split(',');
if (!kinds.every(isKind)) throw new Error(`--kinds takes ${Object.keys(KINDS).join(', ')}`);
for (const members of values.members.split(',').map(Number))
  for (const kind of kinds) await measure(members, kind);
