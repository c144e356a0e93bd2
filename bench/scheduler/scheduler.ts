/**
 * One real scheduler in this process, on a real etcd, without agents, monitors and arbiters. This file starts it, writes jobs
 * as the API would, and follows what becomes durable.
 *
 * - `fairness.ts` measures how long a small job of one namespace waits while a large one of another is placed.
 * - `gang-eviction.ts` measures how long a gang takes that preempts other work, and small jobs beside it.
 * - `hosts.ts` answers for the hosts of `gang-eviction`, from memory.
 */
import type { RunningScheduler } from '../../schedulers/main.ts';
import { runScheduler } from '../../schedulers/main.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import type { SchedulerKind } from '../../src/core/cell/job.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import type { CellStore } from '../../src/ports/cell-store.ts';
import { parseJobObject } from '../../src/wire/job-file/job-file.ts';
import { jobCodec } from '../../src/wire/records/records.ts';
import type { Bed } from '../testbed/testbed.ts';

const CELL = 'bench';
export const keys = cellKeys(CELL);

/** Tasks of a small job. */
export const SMALL = 10;

export function startScheduler(
  { endpoints }: Bed,
  id: string,
  kind: SchedulerKind,
): Promise<RunningScheduler> {
  return runScheduler({
    ...{ id, kind, cell: CELL, etcd: endpoints, enforcement: false, log: silentLog },
    listen: { host: '127.0.0.1', port: 0 },
  });
}

/** Writes a job, named like its namespace. @param job the rest of its file */
export async function submit(
  store: CellStore,
  namespace: string,
  job: Record<string, unknown>,
): Promise<void> {
  const read = parseJobObject({ ...job, name: namespace, namespace, command: ['x'] });
  if (!read.ok) throw new Error(`the job of the benchmark cannot be read: ${JSON.stringify(read)}`);
  const value = jobCodec.encode({ job: read.job, version: 1, desired: 'run', submittedAtMs: Date.now() });
  const key = keys.job(namespace, namespace);
  await store.attempt({ compares: [], writes: [{ kind: 'put', key, value }], readBack: [] });
}

/** A job of `SMALL` tasks. @returns ms from its submission until all of them are durable */
export async function smallJobMs(
  store: CellStore,
  durable: Durable,
  namespace: string,
  type: 'service' | 'batch',
): Promise<number> {
  const startedMs = performance.now();
  await submit(store, namespace, { type, count: SMALL, resources: { cpu: '1m', memory: '1Mi' } });
  await durable.until(() => durable.of(namespace) >= SMALL);
  return performance.now() - startedMs;
}

/** Follows what is durable: allocations of each namespace, and intents, which go when their gang is effective. */
export class Durable {
  readonly ready: Promise<unknown>;
  /** The keys of each namespace, ever put: a watch that breaks begins with a snapshot again. */
  readonly #allocations = new Map<string, Set<string>>();
  readonly #waiting = new Set<{ readonly holds: () => boolean; readonly resolve: () => void }>();
  readonly #following: readonly { readonly ready: Promise<void>; close(): void }[];
  #intents = new Set<string>();
  #snapshots = 0;

  constructor(store: CellStore) {
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
