import { Arbiter } from '../../arbiter/arbiter.ts';
import { reportLagMs, TICKET_USABLE_MS } from '../../arbiter/report-lag.ts';
import { arbiterRoutes } from '../../arbiter/routes.ts';
import { MemoryCell } from '../../src/adapters/memory/cell.ts';
import { MemoryCellStore } from '../../src/adapters/memory/memory.ts';
import { MemoryNetwork } from './memory-network.ts';
import { silentLog, silentMetrics } from '../../src/adapters/telemetry/silent.ts';
import type { Allocation } from '../../src/core/cell/allocation.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import type { Pause } from '../../src/core/quota/pauses.ts';
import type { Quota } from '../../src/core/quota/quota.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import { seededRandom } from '../../src/core/random/random.ts';
import type { CellStore } from '../../src/ports/cell-store.ts';
import type { StartTerms } from '../../src/core/quota/ticket.ts';
import { SILENCE_MS } from '../../src/runtime/reports/beat-interval.ts';
import { Broadcast } from '../../src/runtime/stream/stream.ts';
import { quotaCodec, roleCodec } from '../../src/wire/records/records.ts';
import type { ReportFrame } from '../../src/wire/api/report-frames.ts';
import { ManualClock } from './manual-clock.ts';
import { pauseRecord } from './pauses.ts';

export const CELL = cellKeys('test');

/** From a grant until its use is visible, if there is any, where monitors wait for a host as long as they usually do. */
export const GRANT_HELD_MS = TICKET_USABLE_MS + reportLagMs(SILENCE_MS);

/** One cell in memory with a monitor that says what a test tells it to, and as many arbiters as wanted. */
export class ArbiterWorld {
  readonly clock = new ManualClock();
  readonly network = new MemoryNetwork({ clock: this.clock });
  readonly cell = new MemoryCell({ clock: this.clock });
  readonly store = new MemoryCellStore({ clock: this.clock, cell: this.cell });
  #frames = new Broadcast<ReportFrame>(10_000);
  /** Streams that begin tell what hosts have, and go on only when it is resolved. */
  #hold: Promise<void> | null = null;
  readonly #known = new Map<string, ReportFrame[]>();
  readonly #arbiters: Arbiter[] = [];
  readonly #stores: MemoryCellStore[] = [];
  #cancelBeat: () => void = () => undefined;

  async startMonitor(): Promise<void> {
    const stream = (signal: AbortSignal): AsyncIterable<string> => {
      const first = [...this.#known.values()].flat();
      const frames = this.#frames.subscribe(signal, [...first, this.#view()]);
      return lines(this.#hold === null ? frames : heldBack(first, this.#hold, frames));
    };
    const listener = await this.network.server().listen(
      [
        {
          method: 'GET',
          path: '/v1/reports',
          right: 'read',
          handle: async ({ signal }) => ({ status: 200, stream: stream(signal) }),
        },
      ],
      { host: '127.0.0.1', port: 0, bodyBytesMax: 0 },
    );
    const record = roleRecord('monitor', 'monitor-1', listener.address);
    await this.put(CELL.role('monitor', 'monitor-1'), roleCodec.encode(record));
    const beat = (): void => {
      this.#frames.send(this.#view());
      for (const host of this.#known.keys())
        if (!this.silent.has(host)) this.#frames.send(this.#next(host, {}));
      this.#cancelBeat = this.clock.after(1_000, beat);
    };
    beat();
  }

  readonly silent = new Set<string>();
  /** After how long the monitor calls a host silent, as it says. */
  hostSilenceMs = SILENCE_MS;
  readonly #seq = new Map<string, number>();

  #next(host: string, change: { allocation?: AllocationReport; gone?: string }): ReportFrame {
    const seq =
      (this.#seq.get(host) ?? 0) + (change.allocation === undefined && change.gone === undefined ? 0 : 1);
    this.#seq.set(host, seq);
    const head = { host, incarnation: 3, seq };
    if (change.allocation !== undefined) return { ...head, kind: 'change', allocation: change.allocation };
    if (change.gone !== undefined) return { ...head, kind: 'gone', id: change.gone };
    return { ...head, kind: 'beat' };
  }

  #view(): ReportFrame {
    return { kind: 'view', complete: true, synced: true, silenceMs: this.hostSilenceMs };
  }

  addHost(host: string, allocations: readonly AllocationReport[] = []): void {
    this.#seq.set(host, 1);
    const full: ReportFrame = { kind: 'full', host, incarnation: 3, seq: 1, allocations };
    this.#known.set(host, [full]);
    this.#frames.send(full);
  }

  report(allocation: AllocationReport): void {
    this.#send(allocation.host, this.#next(allocation.host, { allocation }));
  }

  gone(host: string, id: string): void {
    this.#send(host, this.#next(host, { gone: id }));
  }

  silence(host: string): void {
    this.silent.add(host);
    this.#send(host, { kind: 'silent', host, silentMs: 0 });
  }

  #send(host: string, frame: ReportFrame): void {
    this.#known.get(host)?.push(frame);
    this.#frames.send(frame);
  }

  /** All streams end; those that follow come to a stop when they have told what hosts have. @returns lets them go on */
  cutStreams(): () => void {
    let goOn: () => void = () => undefined;
    this.#hold = new Promise((resolve) => (goOn = resolve));
    const before = this.#frames;
    this.#frames = new Broadcast(10_000);
    before.close();
    return () => {
      this.#hold = null;
      goOn();
    };
  }

  async put(key: string, value: string): Promise<void> {
    await this.store.attempt({ compares: [], writes: [{ kind: 'put', key, value }], readBack: [] });
  }

  /** Deletes the key, whoever wrote it. */
  async remove(key: string): Promise<void> {
    await this.store.attempt({ compares: [], writes: [{ kind: 'delete', key }], readBack: [] });
  }

  /** The rest of each key under the prefix. */
  async namesUnder(prefix: string): Promise<readonly string[]> {
    return [...(await this.store.list(prefix)).entries.keys()].map((key) => key.slice(prefix.length));
  }

  setQuota(quota: Partial<Quota> & { readonly namespace: string }): Promise<void> {
    const none = { cpuMilli: null, memoryMib: null, gpuMilli: null, allocations: null };
    return this.put(CELL.quota(quota.namespace), quotaCodec.encode({ ...none, ...quota }));
  }

  setPause(pause: Partial<Pause>): Promise<void> {
    return this.put(...pauseRecord(CELL, pause));
  }

  /** @returns the arbiter, where it listens, and how to end it as a crash would: its session is not ended */
  async startArbiter(
    id = 'arbiter-1',
    through: (store: CellStore) => CellStore = (store) => store,
  ): Promise<{ arbiter: Arbiter; address: string; store: MemoryCellStore }> {
    const store = new MemoryCellStore({ clock: this.clock, cell: this.cell });
    this.#stores.push(store);
    const arbiter = new Arbiter({
      store: through(store),
      keys: CELL,
      http: this.network.client(id),
      clock: this.clock,
      random: seededRandom(7),
      log: silentLog,
      metrics: silentMetrics,
      signer: { sign: async (bodies) => bodies.map((body) => JSON.stringify(body)) },
      record: roleRecord('arbiter', id, ''),
      options: { sessionTtlMs: 10_000 },
    });
    this.#arbiters.push(arbiter);
    const listen = { host: '127.0.0.1', port: 0, bodyBytesMax: 512 * 1024 };
    const routes = arbiterRoutes(arbiter, { metrics: silentMetrics, log: silentLog });
    const { address } = await this.network.server().listen(routes, listen);
    await arbiter.start(address);
    await this.clock.advance(0);
    return { arbiter, address, store };
  }

  async close(): Promise<void> {
    this.#cancelBeat();
    this.#frames.close();
    const closing = Promise.all(this.#arbiters.map((arbiter) => arbiter.close()));
    await this.clock.advance(20_000);
    await closing;
    for (const store of [...this.#stores, this.store]) await store.close();
  }
}

/** As of a large view, whose end is long in coming. */
async function* heldBack(
  first: readonly ReportFrame[],
  hold: Promise<void>,
  then: AsyncIterable<ReportFrame>,
): AsyncGenerator<ReportFrame> {
  yield { kind: 'view', complete: true, synced: false };
  yield* first.filter(({ kind }) => kind === 'full');
  await hold;
  yield* then;
}

async function* lines(frames: AsyncIterable<ReportFrame>): AsyncGenerator<string> {
  for await (const frame of frames) yield `${JSON.stringify(frame)}\n`;
}

function roleRecord(kind: 'monitor' | 'arbiter', id: string, address: string) {
  return { kind, id, address, version: '0.1.0', policy: '', startedAtMs: 0 };
}

/** What the host says of an allocation that was started with these terms. */
export function reportOf(terms: StartTerms, changes: Partial<AllocationReport> = {}): AllocationReport {
  return {
    ...terms.claim,
    namespace: terms.namespace,
    job: terms.job,
    jobVersion: 1,
    group: 'web',
    index: 0,
    attempt: 1,
    scheduler: terms.scheduler,
    state: 'running',
    released: false,
    reason: '',
    restarts: 0,
    tasks: {},
    ...changes,
  };
}

/** The record that a scheduler commits before it starts what these terms name. */
export function allocationOf(terms: StartTerms): Allocation {
  return {
    ...terms.claim,
    namespace: terms.namespace,
    job: terms.job,
    jobVersion: 1,
    group: 'web',
    index: 0,
    attempt: 1,
    scheduler: terms.scheduler,
    desired: 'run',
    planId: 'p1',
    epoch: terms.epoch,
    createdAtMs: 0,
  };
}
