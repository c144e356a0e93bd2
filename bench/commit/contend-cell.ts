import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { builtFile } from '../../src/adapters/system/package-files.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import type { SharedResource } from '../../src/core/quota/shared-resource.ts';
import { allocationCodec, sharedResourceCodec } from '../../src/wire/records/records.ts';
import { checkHistory } from '../../sim/checkers/check-history.ts';
import type {
  SliceReport,
  WorkerCommand,
  WorkerMessage,
  WorkerOrder,
  WorkerReport,
  WorkerSizes,
} from './contend-worker.ts';
import type { Bed } from '../testbed/testbed.ts';
import { processCpuUs } from '../testbed/process-cpu.ts';
import { fillHalf } from './half-full.ts';
import { warmMemory } from '../testbed/warm-memory.ts';

export interface ContendOptions extends WorkerSizes {
  /** The schedulers do not know of each other. */
  readonly strangers: boolean;
  /** Every placement takes some of one pool, which the whole cell shares. */
  readonly pool: boolean;
}

/** What all processes of one cell did together in one slice. */
export interface Slice {
  readonly perSecond: number;
  readonly cpuUsEach: number;
  /** CPU time of etcd from the first write to the last, for each allocation that was written meanwhile. */
  readonly etcdCpuUsEach: number;
  readonly durationsMs: readonly number[];
}

/** What all of them did from their start to their end, and whether it is in the store. */
export interface CellEnd {
  readonly commits: number;
  readonly rebased: number;
  readonly conflicted: number;
  readonly transactions: number;
  readonly refused: number;
  /** Reported as committed, and not in the store; and the other way round. */
  readonly lost: number;
  readonly unclaimed: number;
  readonly history: Awaited<ReturnType<typeof checkHistory>>;
}

/** More than all placements take. */
const POOL: SharedResource = { name: 'uplink', unit: '', by: null, capacity: 1e12, capacities: {} };
/** After a rest: until the queues are as full as they will be. */
const RUN_UP_MS = 400;
/** More than server and clients take anew in a slice of a second or two. */
const MEMORY_MIB = 512;

/** A half-full cell and the scheduler processes that place on it. They rest between the slices. */
export class ContendCell {
  readonly #bed: Bed;
  readonly #name: string;
  readonly #workers: readonly Worker[];

  private constructor(bed: Bed, name: string, workers: readonly Worker[]) {
    this.#bed = bed;
    this.#name = name;
    this.#workers = workers;
  }

  /** Fills the cell, starts the processes and lets them run until each is warm. */
  static async start(bed: Bed, processes: number, options: ContendOptions): Promise<ContendCell> {
    const name = `contend-${String(processes)}`;
    const keys = cellKeys(name);
    await fillHalf(bed.store, keys, options.hosts, options.seed);
    if (options.pool) {
      const key = keys.sharedResource(POOL.name);
      const writes = [{ kind: 'put', key, value: sharedResourceCodec.encode(POOL) }] as const;
      await bed.store.attempt({ compares: [], writes, readBack: [] });
    }
    const workers = Array.from({ length: processes }, (_, part) => {
      const { strangers, pool, ...rest } = options;
      return new Worker({
        ...rest,
        ...{ endpoints: [bed.etcd.clientUrl], cell: name, name: `contend-${String(part + 1)}` },
        seed: options.seed * 1000 + part + 1,
        shared: pool ? { [POOL.name]: 1 } : null,
        part: strangers ? null : { index: part, count: processes },
      });
    });
    await Promise.all(workers.map((worker) => worker.next('ready')));
    // All run until the last is warm, so that each is warm under contention.
    await Promise.all(workers.map((worker) => worker.ask('go', 'warm')));
    await Promise.all(workers.map((worker) => worker.ask('rest', 'rested')));
    return new ContendCell(bed, name, workers);
  }

  async slice(): Promise<Slice> {
    const { etcd } = this.#bed;
    warmMemory(MEMORY_MIB);
    const etcdBeforeUs = processCpuUs(etcd);
    for (const worker of this.#workers) worker.order('go');
    await sleep(RUN_UP_MS);
    const answers = await Promise.all(this.#workers.map((worker) => worker.ask('measure', 'slice')));
    const slices = answers.map(({ slice }): SliceReport => slice);
    const sum = (pick: (one: SliceReport) => number): number =>
      slices.reduce((all, one) => all + pick(one), 0);
    const etcdUs = processCpuUs(etcd) - etcdBeforeUs;
    return {
      perSecond: sum((one) => one.counted / one.seconds),
      cpuUsEach: sum((one) => one.cpuUs) / sum((one) => one.counted),
      etcdCpuUsEach: etcdUs / sum((one) => one.landed),
      durationsMs: slices.flatMap(({ durationsMs }) => durationsMs),
    };
  }

  /** Ends the processes. The store must then hold what they committed, and the history must keep the invariants. */
  async end(): Promise<CellEnd> {
    const answers = await Promise.all(this.#workers.map((worker) => worker.ask('end', 'report')));
    const reports = answers.map(({ report }): WorkerReport => report);
    const { store } = this.#bed;
    const keys = cellKeys(this.#name);
    const { entries } = await store.list(keys.allocations);
    const stored = new Set<string>();
    for (const { value } of entries.values()) {
      const { id, job } = allocationCodec.decode(value);
      if (job.startsWith('contend-')) stored.add(id);
    }
    const claimed = reports.flatMap(({ ids }) => ids);
    const lost = claimed.filter((id) => !stored.has(id)).length;
    const sum = (pick: (report: WorkerReport) => number): number =>
      reports.reduce((all, report) => all + pick(report), 0);
    return {
      commits: claimed.length,
      rebased: sum((one) => one.rebased),
      conflicted: sum((one) => one.conflicted),
      transactions: sum((one) => one.transactions),
      refused: sum((one) => one.refused),
      ...{ lost, unclaimed: stored.size - claimed.length + lost },
      history: await checkHistory(store, keys, []),
    };
  }
}

type MessageOf<S extends WorkerMessage['kind']> = Extract<WorkerMessage, { readonly kind: S }>;

class Worker {
  readonly #child: ChildProcess;
  readonly #gone: Promise<never>;

  constructor(order: WorkerOrder) {
    this.#child = fork(builtFile('bench/commit/contend-worker.js'), [JSON.stringify(order)]);
    this.#gone = new Promise((_, reject) => {
      this.#child.once('exit', (code) => reject(new Error(`${order.name} ended with ${String(code)}`)));
    });
    this.#gone.catch(() => undefined);
  }

  order(command: WorkerCommand): void {
    this.#child.send(command);
  }

  ask<S extends WorkerMessage['kind']>(command: WorkerCommand, answer: S): Promise<MessageOf<S>> {
    const answered = this.next(answer);
    this.order(command);
    return answered;
  }

  next<S extends WorkerMessage['kind']>(what: S): Promise<MessageOf<S>> {
    const child = this.#child;
    const received = new Promise<MessageOf<S>>((resolve) => {
      const listen = (message: unknown): void => {
        const answer = message as WorkerMessage;
        if (answer.kind !== what) return;
        child.off('message', listen);
        resolve(answer as MessageOf<S>);
      };
      child.on('message', listen);
    });
    return Promise.race([received, this.#gone]);
  }
}
