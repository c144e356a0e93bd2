import type { MemoryCell } from '../../src/adapters/memory/cell.ts';
import { silentLog, silentMetrics } from '../../src/adapters/telemetry/silent.ts';
import type { Allocation } from '../../src/core/cell/allocation.ts';
import { retainedBy } from '../../src/core/commit/pending-preemption.ts';
import type { Host } from '../../src/core/host/host.ts';
import { allocatable } from '../../src/core/host/host.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import type { Ledger } from '../../src/core/fit/ledger.ts';
import { EMPTY_LEDGER, usedOf, withClaim } from '../../src/core/fit/ledger.ts';
import { LedgerBook } from '../../src/core/commit/ledger-book.ts';
import type { Atomicity, ConflictCheck, Plan } from '../../src/core/commit/plan.ts';
import type { PoolBook } from '../../src/core/quota/pool-book.ts';
import type { SharedResource } from '../../src/core/quota/shared-resource.ts';
import { capacityOf, partsOfPool } from '../../src/core/quota/shared-resource.ts';
import { NO_SCALARS, shortOf } from '../../src/core/cell/resources.ts';
import type { CellStore, Revision } from '../../src/ports/cell-store.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Random } from '../../src/ports/random.ts';
import type { CommitterDeps } from '../../src/runtime/commit/commit.ts';
import { Committer } from '../../src/runtime/commit/commit.ts';
import {
  allocationCodec,
  ledgerCodec,
  poolCodec,
  sharedResourceCodec,
} from '../../src/wire/records/records.ts';

export function testHost(id: string, more: Partial<Host> = {}): Host {
  return {
    id,
    address: `http://${id}`,
    capacity: { cpuMilli: 4_000, memoryMib: 8_192, diskMib: 0, scalars: NO_SCALARS },
    reserved: { cpuMilli: 0, memoryMib: 192, diskMib: 0, scalars: NO_SCALARS },
    gpuModels: ['a', 'a'],
    portRange: { first: 20_000, last: 20_009 },
    attributes: {},
    bootId: 'boot',
    incarnation: 1,
    agentVersion: '0',
    ...more,
  };
}

export function testAllocation(id: string, host: string, more: Partial<Allocation> = {}): Allocation {
  return {
    id,
    host,
    precedence: 50,
    resources: { cpuMilli: 1_000, memoryMib: 1_000, diskMib: 0, scalars: NO_SCALARS },
    gpus: [],
    ports: {},
    namespace: 'default',
    job: 'web',
    jobVersion: 1,
    group: 'web',
    index: 0,
    attempt: 1,
    scheduler: 'service-1',
    desired: 'run',
    planId: 'plan',
    epoch: { incarnation: '6b1e7a3c-0000-4000-8000-000000000000', counter: 0 },
    createdAtMs: 1_700_000_000_000,
    ...more,
  };
}

export function planOf(id: string, more: Partial<Plan> & { readonly atomicity?: Atomicity } = {}): Plan {
  return { id, atomicity: 'incremental', places: [], evictions: [], releases: [], ...more };
}

export interface CommitterWorld {
  readonly committer: Committer;
  readonly book: LedgerBook;
  /** Create revisions of the owner keys that this scheduler believes to hold, by `namespace/job`. */
  readonly owned: Map<string, number>;
}

export interface CommitterWorldOptions {
  readonly store: CellStore;
  readonly keys: CellKeys;
  readonly hosts: ReadonlyMap<string, Host>;
  readonly clock: Clock;
  readonly random: Random;
  readonly conflictCheck?: ConflictCheck;
  readonly inFlightMax?: number;
  readonly rebasesMax?: number;
  readonly intentRevisionOf?: CommitterDeps['intentRevisionOf'];
  readonly pools?: PoolBook;
  readonly session?: CommitterDeps['session'];
}

export function committerWorld(options: CommitterWorldOptions): CommitterWorld {
  const book = new LedgerBook();
  const owned = new Map<string, number>();
  const committer = new Committer({
    store: options.store,
    keys: options.keys,
    book,
    hostOf: (id) => options.hosts.get(id),
    ownerRevisionOf: (namespace, job) => owned.get(`${namespace}/${job}`),
    ...(options.intentRevisionOf === undefined ? {} : { intentRevisionOf: options.intentRevisionOf }),
    ...(options.pools === undefined ? {} : { pools: options.pools }),
    ...(options.session === undefined ? {} : { session: options.session }),
    clock: options.clock,
    random: options.random,
    log: silentLog,
    metrics: silentMetrics,
    options: {
      conflictCheck: options.conflictCheck ?? 'resource-fit',
      inFlightMax: options.inFlightMax ?? 4,
      rebasesMax: options.rebasesMax ?? 8,
    },
  });
  return { committer, book, owned };
}

/** Makes this scheduler the owner of the job, in the store and in its own mind. */
export async function own(
  store: CellStore,
  keys: CellKeys,
  world: CommitterWorld,
  job: string,
): Promise<void> {
  const key = keys.owner('default', job);
  const reply = await store.attempt({
    compares: [],
    writes: [{ kind: 'put', key, value: '{}' }],
    readBack: [],
  });
  if (reply.outcome !== 'applied') throw new Error('owner key was not written');
  const created = (await store.read([key])).entries.get(key)?.createRevision ?? 0;
  world.owned.set(`default/${job}`, created);
}

/** What was found wrong in the history of a cell; and when each allocation appeared and went. */
export interface Audit {
  readonly faults: readonly string[];
  readonly created: ReadonlyMap<string, number>;
  readonly live: ReadonlyMap<string, Allocation>;
}

/**
 * Replays every revision and holds it against the laws: a ledger equals the sum of the live allocations of its host (I3),
 * no host gives away more than it has (I1), no port or device share twice (I2), no allocation id appears twice (I46), and
 * a pool above the hosts is the sum of what allocations take of it, and grows only within its capacity (S3.15).
 */
export function audit(history: Iterable<Revision>, keys: CellKeys, hosts: ReadonlyMap<string, Host>): Audit {
  const faults: string[] = [];
  const created = new Map<string, number>();
  const live = new Map<string, Allocation>();
  const byHost = new Map<string, Map<string, Allocation>>();
  const ledgers = new Map<string, Ledger>();
  const pools = new Map<string, number>();
  const resources = new Map<string, SharedResource>();
  for (const { revision, changes } of history) {
    const touched = new Set<string>();
    const grown = new Set<string>();
    let isShared = false;
    for (const change of changes) {
      const key = change.kind === 'put' ? change.entry.key : change.key;
      if (key.startsWith(keys.ledgers)) {
        const host = key.slice(keys.ledgers.length);
        touched.add(host);
        ledgers.set(host, change.kind === 'put' ? ledgerCodec.decode(change.entry.value) : EMPTY_LEDGER);
      } else if (key.startsWith(keys.pools)) {
        const pool = key.slice(keys.pools.length);
        const used = change.kind === 'put' ? poolCodec.decode(change.entry.value).used : 0;
        if (used > (pools.get(pool) ?? 0)) grown.add(pool);
        pools.set(pool, used);
        isShared = true;
      } else if (key.startsWith(keys.shared) && change.kind === 'put') {
        const resource = sharedResourceCodec.decode(change.entry.value);
        resources.set(resource.name, resource);
      } else if (key.startsWith(keys.allocations)) {
        const id = key.slice(key.lastIndexOf('/') + 1);
        const before = live.get(id);
        if (before !== undefined) {
          touched.add(before.host);
          byHost.get(before.host)?.delete(id);
        }
        live.delete(id);
        isShared ||= before?.shared !== undefined;
        if (change.kind === 'delete') continue;
        const allocation = allocationCodec.decode(change.entry.value);
        if (before === undefined && created.has(id))
          faults.push(`r${String(revision)}: ${id} appears a second time`);
        if (before === undefined) created.set(id, revision);
        live.set(id, allocation);
        isShared ||= allocation.shared !== undefined;
        touched.add(allocation.host);
        const mates = byHost.get(allocation.host) ?? new Map<string, Allocation>();
        byHost.set(allocation.host, mates.set(id, allocation));
      }
    }
    if (isShared)
      for (const found of poolFaults(pools, resources, grown, live.values()))
        faults.push(`r${String(revision)} ${found}`);
    for (const id of touched) {
      const found = faultOf(hosts.get(id), ledgers.get(id) ?? EMPTY_LEDGER, [
        ...(byHost.get(id)?.values() ?? []),
      ]);
      if (found !== null) faults.push(`r${String(revision)} ${id}: ${found}`);
    }
  }
  return { faults, created, live };
}

function poolFaults(
  pools: ReadonlyMap<string, number>,
  resources: ReadonlyMap<string, SharedResource>,
  grown: ReadonlySet<string>,
  live: Iterable<Allocation>,
): string[] {
  const faults: string[] = [];
  const sums = new Map<string, number>();
  for (const { shared } of live)
    for (const [pool, amount] of Object.entries(shared ?? {})) sums.set(pool, (sums.get(pool) ?? 0) + amount);
  for (const pool of new Set([...pools.keys(), ...sums.keys()])) {
    const used = pools.get(pool) ?? 0;
    if (used !== (sums.get(pool) ?? 0))
      faults.push(`${pool} says ${String(used)}, allocations ${String(sums.get(pool))}`);
  }
  for (const pool of grown) {
    const { resource, value } = partsOfPool(pool);
    const known = resources.get(resource);
    const capacity = known === undefined ? 0 : capacityOf(known, value);
    if ((pools.get(pool) ?? 0) > capacity) faults.push(`${pool} grew beyond ${String(capacity)}`);
  }
  return faults;
}

function faultOf(host: Host | undefined, ledger: Ledger, live: readonly Allocation[]): string | null {
  if (host === undefined) return 'unknown host';
  let sum: Ledger = { ...EMPTY_LEDGER, state: ledger.state, counter: ledger.counter };
  for (const allocation of live) {
    const counted = withClaim(sum, allocation);
    const kept = allocation.desired === 'evict' ? retainedBy(allocation) : null;
    if (kept !== null) sum = withClaim(sum, kept);
    sum = allocation.desired === 'evict' ? { ...sum, ports: counted.ports } : counted;
  }
  if (ledgerCodec.encode(sum) !== ledgerCodec.encode(ledger))
    return `I3 ledger ${ledgerCodec.encode(ledger)} but allocations ${ledgerCodec.encode(sum)}`;
  const short = shortOf(usedOf(ledger), allocatable(host));
  if (short !== null) return `I1 ${short.dimension} ${String(short.needed)} of ${String(short.available)}`;
  if (ledger.gpuMilli.some((milli) => milli > 1000)) return 'I1 gpu over a whole device';
  if (new Set(ledger.ports).size !== ledger.ports.length) return 'I2 a port twice';
  return null;
}

export function auditCell(cell: MemoryCell, keys: CellKeys, hosts: ReadonlyMap<string, Host>): Audit {
  return audit(cell.past(keys.root, cell.oldestRevision), keys, hosts);
}
