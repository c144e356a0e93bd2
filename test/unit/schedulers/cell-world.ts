import { MemoryCell } from '../../../src/adapters/memory/cell.ts';
import { MemoryCellStore } from '../../../src/adapters/memory/memory.ts';
import type { Fate } from '../../support/memory-network.ts';
import { MemoryNetwork } from '../../support/memory-network.ts';
import { DEFAULT_STORE_LIMITS } from '../../../src/adapters/store/store.ts';
import { sha256Hex } from '../../../src/adapters/system/digest.ts';
import { silentLog, silentMetrics } from '../../../src/adapters/telemetry/silent.ts';
import type { Allocation, Outcome } from '../../../src/core/cell/allocation.ts';
import type { Group, Job, JobRecord } from '../../../src/core/cell/job.ts';
import { cellKeys } from '../../../src/core/cell/keys.ts';
import type { Eligibility } from '../../../src/core/host/host.ts';
import type { Ledger } from '../../../src/core/fit/ledger.ts';
import { EMPTY_LEDGER, usedOf } from '../../../src/core/fit/ledger.ts';
import { addResources, isZero, NO_RESOURCES, subtractResources } from '../../../src/core/cell/resources.ts';
import { seededRandom } from '../../../src/core/random/random.ts';
import type { Attempt, CellStore, Entry } from '../../../src/ports/cell-store.ts';
import type { HttpCall } from '../../../src/ports/http.ts';
import type { SchedulerEvent } from '../../../src/wire/api/scheduler-api.ts';
import {
  allocationCodec,
  eligibilityCodec,
  hostCodec,
  jobCodec,
  ledgerCodec,
  outcomeCodec,
  roleCodec,
} from '../../../src/wire/records/records.ts';
import { Scheduler } from '../../../schedulers/scheduler.ts';
import type { SchedulerSettings } from '../../../schedulers/policies/options.ts';
import { compileOptions } from '../../../schedulers/policies/options.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { amounts, makeGroup, makeHost } from '../core/placement/placement-fixtures.ts';
import { FakeHost } from './fake-host.ts';

export const keys = cellKeys('test');

export interface Member {
  readonly scheduler: Scheduler;
  readonly store: MemoryCellStore;
  readonly events: SchedulerEvent[];
}

/** A cell in memory with a clock that tests move: hosts that run nothing, and real schedulers. */
export class CellWorld {
  readonly clock = new ManualClock();
  readonly cell = new MemoryCell({ clock: this.clock });
  readonly store = new MemoryCellStore({ clock: this.clock, cell: this.cell });
  readonly network: MemoryNetwork;
  readonly hosts = new Map<string, FakeHost>();
  readonly members: Member[] = [];
  /** Of all schedulers' stores, from now on. */
  readonly limits = { ...DEFAULT_STORE_LIMITS };
  /** A test may decide what becomes of calls. */
  fate: (call: HttpCall, from: string) => Fate | Promise<Fate> = () => 'pass';
  #seed: number;

  constructor(seed = 1) {
    this.#seed = seed;
    this.network = new MemoryNetwork({ fate: ({ call, from }) => this.fate(call, from) });
  }

  async host(
    id: string,
    cpuMilli = 4_000,
    attributes: Readonly<Record<string, string>> = {},
  ): Promise<FakeHost> {
    const host = await new FakeHost(id).listen(this.network.server());
    this.hosts.set(id, host);
    const record = makeHost(id, {
      address: host.address,
      capacity: amounts(cpuMilli, 64_000, 64_000),
      attributes,
    });
    await this.put(keys.host(id), hostCodec.encode(record));
    await this.put(keys.aliveOf(id), '{}');
    return host;
  }

  async scheduler(
    settings: Partial<SchedulerSettings> & { readonly id: string },
    wrap: (store: CellStore) => CellStore = (store) => store,
  ): Promise<Member> {
    const store = new MemoryCellStore({ clock: this.clock, cell: this.cell, limits: this.limits });
    const world = {
      ...{ store: wrap(store), keys, http: this.network.client(settings.id), clock: this.clock },
      ...{ random: seededRandom(this.#seed++), log: silentLog, metrics: silentMetrics, digest: sha256Hex },
    };
    const options = compileOptions({ kind: 'batch', enforcement: false, ...settings });
    const scheduler = new Scheduler(world, options);
    const events: SchedulerEvent[] = [];
    const member = { scheduler, store, events };
    this.members.push(member);
    await scheduler.start(this.network.server(), { host: '127.0.0.1', port: 0, bodyBytesMax: 1024 });
    void collect(scheduler, events);
    return member;
  }

  /** As `kill -9`: nothing more is written, ordered or renewed, and the lease runs out by itself. */
  async kill(member: Member): Promise<void> {
    await member.store.close();
    void member.scheduler.stop().catch(() => undefined);
    void member.scheduler.ended.catch(() => undefined);
  }

  async submit(job: Job, version = 1, desired: JobRecord['desired'] = 'run'): Promise<void> {
    const record: JobRecord = { job, version, desired, submittedAtMs: this.clock.nowMs() };
    await this.put(keys.version(job.namespace, job.name, version), jobCodec.encode(record));
    await this.put(keys.job(job.namespace, job.name), jobCodec.encode(record));
  }

  async put(key: string, value: string): Promise<void> {
    await this.store.attempt({ compares: [], writes: [{ kind: 'put', key, value }], readBack: [] });
  }

  async setEligibility(host: string, state: Ledger['state']): Promise<void> {
    const ledger = this.ledger(host);
    await this.put(keys.ledger(host), ledgerCodec.encode({ ...ledger, state, counter: ledger.counter + 1 }));
  }

  /** Declares the host lost, as a monitor or an operator does. */
  async lose(host: string, more: Partial<Eligibility> = {}): Promise<void> {
    const { counter } = this.ledger(host);
    const verdict = { state: 'lost', reason: '', by: 'm1', sinceMs: this.clock.nowMs() } as const;
    const eligibility = { ...verdict, counter: counter + 1, ...more };
    await this.put(keys.eligibilityOf(host), eligibilityCodec.encode(eligibility));
    await this.setEligibility(host, 'lost');
  }

  /** A lost host is back, as a monitor says. */
  async regain(host: string): Promise<void> {
    const { counter } = this.ledger(host);
    const verdict = { state: 'ready', reason: '', by: 'm1', sinceMs: this.clock.nowMs() } as const;
    await this.put(keys.eligibilityOf(host), eligibilityCodec.encode({ ...verdict, counter: counter + 1 }));
    await this.setEligibility(host, 'ready');
  }

  ledger(host: string): Ledger {
    const entry = this.cell.get(keys.ledger(host));
    return entry === undefined ? EMPTY_LEDGER : ledgerCodec.decode(entry.value);
  }

  allocations(): Allocation[] {
    return this.under(keys.allocations).map((entry) => allocationCodec.decode(entry.value));
  }

  outcomes(): Outcome[] {
    return this.under(keys.outcomes).map((entry) => outcomeCodec.decode(entry.value));
  }

  owners(): readonly string[] {
    return this.under(keys.owners).map((entry) => entry.key.slice(keys.owners.length));
  }

  schedulersAlive(): readonly string[] {
    return this.under(keys.roles).map((entry) => roleCodec.decode(entry.value).id);
  }

  under(prefix: string): Entry[] {
    return this.cell.list(prefix);
  }

  /** All fake hosts' running tasks. */
  running() {
    return [...this.hosts.values()].flatMap((host) => host.running);
  }

  /** Where tasks of the job run, in order. */
  hostsOf(job: string): readonly string[] {
    return this.running()
      .filter((one) => one.job === job)
      .map(({ host }) => host)
      .sort();
  }

  /** Lets things happen, and time pass, until the condition holds. */
  async until(condition: () => boolean, what: string, timeMaxMs = 60_000): Promise<void> {
    const endMs = this.clock.monotonicMs() + timeMaxMs;
    while (!condition()) {
      if (this.clock.monotonicMs() >= endMs) throw new Error(`${what} did not come true`);
      await this.clock.advance(20);
    }
  }

  /** What becomes of a call to a host that takes it and says nothing. */
  untilDeadline({ timeoutMs }: HttpCall): Promise<Fate> {
    return new Promise((resolve) => this.clock.after(timeoutMs, () => resolve('drop-request')));
  }

  /** The law of the store: every ledger is the sum of the live allocations on its host (I1, I3). */
  ledgersAreTrue(): boolean {
    const sums = new Map<string, ReturnType<typeof usedOf>>();
    for (const { host, resources, desired, yields } of this.allocations()) {
      const counts = desired === 'evict' ? (yields?.keeps.resources ?? NO_RESOURCES) : resources;
      sums.set(host, addResources(sums.get(host) ?? NO_RESOURCES, counts));
    }
    return [...this.hosts.keys()].every((host) =>
      isZero(subtractResources(usedOf(this.ledger(host)), sums.get(host) ?? NO_RESOURCES)),
    );
  }

  async close(): Promise<void> {
    for (const { scheduler } of this.members) {
      const stopped = scheduler.stop().catch(() => undefined);
      await this.clock.advance(10_000);
      await stopped;
    }
    for (const host of this.hosts.values()) await host.close();
    await this.store.close();
  }
}

async function collect(scheduler: Scheduler, events: SchedulerEvent[]): Promise<void> {
  for await (const event of scheduler.events(new AbortController().signal)) events.push(event);
}

/** A job of one group of the same name. */
export function makeJob(
  name: string,
  part: Partial<Job> = {},
  group: Partial<Group> = {},
  cpuMilli = 1_000,
): Job {
  const task = {
    ...{ name: 'main', command: ['true'], env: {}, resources: amounts(cpuMilli, 64), gpu: null },
    ...{ stop: { signal: 'SIGTERM', graceMs: 1_000 }, sidecar: false },
  };
  return {
    ...{
      namespace: 'default',
      name,
      type: 'batch',
      precedence: 50,
      scheduler: 'auto',
      labels: {},
      oneOff: false,
    },
    groups: { [name]: makeGroup({ name, tasks: { main: task }, ...group }) },
    ...part,
  };
}

/** Does it write that allocations are to end? */
export function marksStops({ writes }: Attempt): boolean {
  return writes.some(
    (write) =>
      write.kind === 'put' &&
      write.key.startsWith(keys.allocations) &&
      allocationCodec.decode(write.value).desired !== 'run',
  );
}
