import type { Allocation, Outcome } from '../../src/core/cell/allocation.ts';
import type { Host } from '../../src/core/host/host.ts';
import type { Job } from '../../src/core/cell/job.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import { EMPTY_LEDGER, withClaim } from '../../src/core/fit/ledger.ts';
import { NO_RESOURCES, NO_SCALARS } from '../../src/core/cell/resources.ts';
import { seededRandom } from '../../src/core/random/random.ts';
import { MemoryCell } from '../../src/adapters/memory/cell.ts';
import { MemoryCellStore } from '../../src/adapters/memory/memory.ts';
import { MemoryNetwork } from './memory-network.ts';
import { sha256Hex } from '../../src/adapters/system/digest.ts';
import { silentLog, silentMetrics } from '../../src/adapters/telemetry/silent.ts';
import type { Write } from '../../src/ports/cell-store.ts';
import type { HttpAnswer, HttpCall } from '../../src/ports/http.ts';
import { parseJobObject } from '../../src/wire/job-file/job-file.ts';
import {
  allocationCodec,
  eligibilityCodec,
  hostCodec,
  ledgerCodec,
  outcomeCodec,
} from '../../src/wire/records/records.ts';
import type { MonitorDeps } from '../../monitor/monitor.ts';
import { Monitor } from '../../monitor/monitor.ts';
import { undocumented } from './documented.ts';
import { ManualClock, settle, until } from './manual-clock.ts';
import { ReportingHost } from './reporting-host.ts';

/** Monitors over a store and a network in memory, with hosts that say what the test wants. */
export class MonitorWorld {
  readonly clock = new ManualClock();
  /** Who cannot reach whom: `from address`. */
  readonly severed = new Set<string>();
  readonly network = new MemoryNetwork({
    fate: ({ from, to }) => (this.severed.has(`${from} ${to}`) ? 'refuse' : 'pass'),
  });
  readonly cell = new MemoryCell({ clock: this.clock });
  readonly store = this.newStore();
  readonly keys = cellKeys('test');
  readonly http = this.network.client('test');
  readonly #monitors: Monitor[] = [];

  newStore(): MemoryCellStore {
    return new MemoryCellStore({ clock: this.clock, cell: this.cell });
  }

  /** Time passes; living hosts go on talking, and renew their sessions. */
  async pass(seconds: number, living: readonly ReportingHost[]): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      await this.clock.advance(1_000);
      for (const host of living) host.beat();
      await settle();
    }
  }

  async monitor(id = 'm1', more: Partial<MonitorDeps> = {}): Promise<{ monitor: Monitor; address: string }> {
    const monitor = new Monitor({
      ...{ cell: 'test', id, version: '0', listen: { host: '127.0.0.1', port: 0 }, store: this.newStore() },
      ...{ http: this.network.client(id), server: this.network.server(), clock: this.clock },
      ...{
        random: seededRandom(this.#monitors.length + 1),
        digest: sha256Hex,
        log: silentLog,
        metrics: silentMetrics,
      },
      ...more,
    });
    this.#monitors.push(monitor);
    const { address } = await monitor.start();
    await monitor.state.copy.ready;
    await until(() => monitor.state.copy.roles.get(`monitor/${id}`) !== undefined, 'the registration');
    return { monitor, address };
  }

  /** A registered, living host. */
  async host(id: string): Promise<ReportingHost> {
    const host = await new ReportingHost(id).listen(this.network.server());
    await this.write([
      { kind: 'put', key: this.keys.host(id), value: hostCodec.encode(hostRecord(id, host.address)) },
      { kind: 'put', key: this.keys.aliveOf(id), value: '{"v":1}' },
    ]);
    return host;
  }

  /** So many of them: `h1`, `h2`, … */
  async hosts(count: number): Promise<ReportingHost[]> {
    const hosts: ReportingHost[] = [];
    for (let n = 1; n <= count; n++) hosts.push(await this.host(`h${String(n)}`));
    return hosts;
  }

  async write(writes: readonly Write[]): Promise<number> {
    const reply = await this.store.attempt({ compares: [], writes, readBack: [] });
    if (reply.outcome !== 'applied') throw new Error(`the test's own write was ${reply.outcome}`);
    return reply.revision;
  }

  /** What a scheduler's commit writes: the allocation and its host's ledger. */
  async place(allocation: Allocation): Promise<void> {
    const key = this.keys.ledger(allocation.host);
    const known = (await this.store.read([key])).entries.get(key);
    const ledger = known === undefined ? EMPTY_LEDGER : ledgerCodec.decode(known.value);
    await this.write([
      { kind: 'put', key, value: ledgerCodec.encode(withClaim(ledger, allocation)) },
      { kind: 'put', key: this.#keyOf(allocation), value: allocationCodec.encode(allocation) },
    ]);
  }

  /** What a scheduler's release writes, less the ledger. */
  async end(allocation: Allocation, more: Partial<Outcome> = {}): Promise<void> {
    const { id, namespace, job, jobVersion, group, index, attempt, host, scheduler } = allocation;
    const outcome: Outcome = {
      ...{ allocation: id, namespace, job, jobVersion, group, index, attempt, host, scheduler },
      ...{
        state: 'complete',
        exit: { code: 0 },
        reason: 'ended',
        endedAtMs: this.clock.nowMs(),
        restarts: 0,
      },
      ...more,
    };
    await this.write([
      { kind: 'delete', key: this.#keyOf(allocation) },
      { kind: 'put', key: this.keys.outcome(namespace, job, id), value: outcomeCodec.encode(outcome) },
    ]);
  }

  async read<T>(key: string, codec: { decode(text: string): T }): Promise<T | null> {
    const entry = (await this.store.read([key])).entries.get(key);
    return entry === undefined ? null : codec.decode(entry.value);
  }

  async eligibilityOf(host: string) {
    return await this.read(this.keys.eligibilityOf(host), eligibilityCodec);
  }

  async ledgerOf(host: string) {
    return await this.read(this.keys.ledger(host), ledgerCodec);
  }

  /** The answer, which is as the API's document says. */
  async call(
    method: HttpCall['method'],
    url: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<HttpAnswer> {
    const answer = await this.http.call({
      method,
      url,
      headers,
      timeoutMs: 5_000,
      ...(body === undefined ? {} : { body }),
    });
    const fault = undocumented({ method, url }, answer);
    if (fault !== null) throw new Error(fault);
    return answer;
  }

  async closeMonitors(): Promise<void> {
    await Promise.all(this.#monitors.splice(0).map((monitor) => monitor.close()));
  }

  async close(): Promise<void> {
    await Promise.all(this.#monitors.map((monitor) => monitor.close()));
  }

  #keyOf({ namespace, job, id }: Allocation): string {
    return this.keys.allocation(namespace, job, id);
  }
}

export function hostRecord(id: string, address: string): Host {
  return {
    ...{ id, address, capacity: { cpuMilli: 4_000, memoryMib: 4_096, diskMib: 10_000, scalars: NO_SCALARS } },
    ...{ reserved: NO_RESOURCES, gpuModels: [], portRange: { first: 20_000, last: 20_100 }, attributes: {} },
    ...{ bootId: 'b1', incarnation: 1, agentVersion: '0' },
  };
}

export function jobOf(file: Readonly<Record<string, unknown>>): Job {
  const reading = parseJobObject({ command: ['true'], ...file });
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
  return reading.job;
}

export function allocationOf(host: string, id: string, more: Partial<Allocation> = {}): Allocation {
  return {
    ...{ id, host, precedence: 50, gpus: [], ports: {} },
    resources: { cpuMilli: 100, memoryMib: 64, diskMib: 0, scalars: NO_SCALARS },
    ...{
      namespace: 'default',
      job: 'web',
      jobVersion: 1,
      group: 'web',
      index: 0,
      attempt: 1,
      scheduler: 's1',
    },
    ...{ desired: 'run', planId: 'p1', epoch: { incarnation: 'c1', counter: 1 }, createdAtMs: 1 },
    ...more,
  };
}
