/**
 * Warm-up: places jobs that are thrown away, so that V8 has compiled the scheduler's code before the first real job comes.
 *
 * This file places them, with schedulers and cells of its own, before the real one serves (`warmUpFirst`); `idle-warmup.ts` does
 * it when the real scheduler is idle. V8 compiles for what it has seen (one instance of a class, a closure made once), so five
 * schedulers run one after the other: after five the code holds for any number. Not part of it: the connection to the store, starts
 * on hosts, gangs, preemption, and jobs of system schedulers. See `docs/decisions/warm-up.md`.
 */
import type { Host } from '../../src/core/host/host.ts';
import type { SchedulerKind } from '../../src/core/cell/job.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import { NO_SCALARS } from '../../src/core/cell/resources.ts';
import type { CellStore, Write } from '../../src/ports/cell-store.ts';
import type { HttpClient, HttpServer } from '../../src/ports/http.ts';
import { HttpError } from '../../src/ports/http.ts';
import { onAbort } from '../../src/ports/on-abort.ts';
import { JobReader } from '../../src/wire/job-file/job-file.ts';
import { ListedJobTexts } from '../../src/wire/job-file/listed-job.ts';
import { hostCodec } from '../../src/wire/records/records.ts';
import type { SchedulerWorld } from '../state/state.ts';
import type { SchedulerSettings } from '../policies/options.ts';
import { compileOptions } from '../policies/options.ts';
import { Scheduler } from '../scheduler.ts';

export interface WarmUpParts {
  /** The settings of the real scheduler: the same kind, scores and bounds. */
  readonly settings: SchedulerSettings;
  readonly world: Pick<SchedulerWorld, 'clock' | 'random' | 'digest' | 'log' | 'metrics'>;
  readonly makeStore: () => CellStore;
  readonly size?: WarmUpSize;
}

export interface WarmUpSize {
  /** Schedulers, one after the other: code for a single one of its kind does not hold for the next. */
  readonly rounds: number;
  readonly jobs: number;
  readonly hosts: number;
}

const SIZE: WarmUpSize = { rounds: 5, jobs: 1_000, hosts: 500 };
/** Bound of a warm-up that real work waits for: on a slow machine the work comes first. */
export const WARM_UP_MAX_MS = 5_000;

const CELL = 'warm-up';
const NAMESPACE = 'warm-up';
const NOWHERE = 'http://nowhere';

/**
 * Places the jobs. Touches nothing but the stores that it is given, and leaves nothing behind but compiled code.
 *
 * @param over ends it early
 * @returns how many were placed; fewer than planned when it was ended
 */
export async function warmUp(parts: WarmUpParts, over: AbortSignal): Promise<number> {
  const { rounds, jobs } = parts.size ?? SIZE;
  // A system job has a task on every host; its code is too small a part for that.
  if (parts.settings.kind === 'system') return 0;
  let placed = 0;
  for (let round = 0; round < rounds && !over.aborted; round++)
    placed += await new Round(parts, over).place(jobs);
  return placed;
}

/** As `warmUp`, before the scheduler serves: for `WARM_UP_MAX_MS` at most. */
export async function warmUpFirst(parts: WarmUpParts): Promise<number> {
  const over = new AbortController();
  const cancel = parts.world.clock.after(WARM_UP_MAX_MS, () => over.abort());
  try {
    return await warmUp(parts, over.signal);
  } finally {
    cancel();
  }
}

class Round {
  readonly #parts: WarmUpParts;
  readonly #store: CellStore;
  readonly #keys = cellKeys(CELL);
  readonly #over: AbortSignal;
  readonly #reader = new JobReader();
  #placed = 0;
  #wanted = 0;
  #wake: () => void = () => undefined;

  constructor(parts: WarmUpParts, over: AbortSignal) {
    this.#parts = parts;
    this.#store = parts.makeStore();
    this.#over = over;
  }

  async place(jobs: number): Promise<number> {
    const { settings, world } = this.#parts;
    await this.#put(this.#hosts());
    // A think time compiles nothing.
    const { thinkMs: _, ...warmed } = settings;
    const options = compileOptions({ ...warmed, enforcement: false });
    const scheduler = new Scheduler(
      { ...world, store: this.#store, keys: this.#keys, http: silentHosts },
      options,
    );
    const following = this.#store.follow(this.#keys.allocations, {
      onSnapshot: () => undefined,
      onChanges: (changes) => {
        for (const change of changes) if (change.kind === 'put') this.#placed += 1;
        if (this.#placed >= this.#wanted) this.#wake();
      },
    });
    try {
      await scheduler.start(noServer, { host: '', port: 0, bodyBytesMax: 0 });
      // After the first job was placed the scheduler is surely ready, and sees the others come, as in a burst.
      for (const upTo of [1, jobs]) if (!this.#over.aborted) await this.#submit(upTo);
    } finally {
      following.close();
      await scheduler.stop();
      await this.#store.close();
    }
    // On a slow machine a job may have been placed again by now, as no host answers.
    return Math.min(this.#placed, jobs);
  }

  /** Resolves when that many jobs in all were placed, or the time is over. */
  async #submit(upTo: number): Promise<void> {
    const from = this.#wanted;
    this.#wanted = upTo;
    const isPlaced = new Promise<void>((resolve) => (this.#wake = resolve));
    await this.#put(this.#jobs(from, upTo));
    const forget = onAbort(this.#over, () => this.#wake());
    if (!this.#over.aborted) await isPlaced;
    forget();
  }

  *#jobs(from: number, to: number): Generator<Write> {
    let texts = this.#texts();
    for (let n = from; n < to; n++) {
      if (n % LIST_JOBS === 0) texts = this.#texts();
      yield this.#job(n, texts);
    }
  }

  #texts(): ListedJobTexts {
    const submittedAtMs = Math.floor(this.#parts.world.clock.nowMs());
    return new ListedJobTexts({ version: 1, desired: 'run', submittedAtMs });
  }

  /** Most are alike, as jobs are; the first ones of a list differ, so that code is compiled for more than one form. */
  #job(n: number, texts: ListedJobTexts): Write {
    const more = n % LIST_JOBS < 2 ? { env: { N: String(n) }, labels: { n: String(n) } } : {};
    const reading = this.#reader.read({
      ...{ name: `job-${String(n)}`, namespace: NAMESPACE, type: typeOf(this.#parts.settings.kind) },
      ...{ command: ['true'], resources: { cpu: '10m', memory: '16Mi' }, ...more },
    });
    if (!reading.ok) throw new Error(reading.problems.map(({ text }) => text).join('; '));
    const { listed } = reading;
    return { kind: 'put', key: this.#keys.job(NAMESPACE, listed.name), value: texts.of(listed) };
  }

  *#hosts(): Generator<Write> {
    const { hosts } = this.#parts.size ?? SIZE;
    for (let n = 0; n < hosts; n++) {
      const id = `host-${String(n)}`;
      yield { kind: 'put', key: this.#keys.host(id), value: hostCodec.encode(hostOf(id)) };
      yield { kind: 'put', key: this.#keys.aliveOf(id), value: '{}' };
    }
  }

  /** Made as they are written, so that no time slice is long. */
  async #put(all: Iterable<Write>): Promise<void> {
    let writes: Write[] = [];
    for (const write of all) {
      if (writes.push(write) < WRITES_AT_ONCE) continue;
      await this.#store.attempt({ compares: [], writes, readBack: [] });
      writes = [];
    }
    if (writes.length > 0) await this.#store.attempt({ compares: [], writes, readBack: [] });
  }
}

/** Some milliseconds of work while it is not compiled. */
const WRITES_AT_ONCE = 100;
const LIST_JOBS = 500;

function typeOf(kind: SchedulerKind): string {
  return kind === 'service' ? 'service' : 'batch';
}

function hostOf(id: string): Host {
  const capacity = { cpuMilli: 64_000, memoryMib: 262_144, diskMib: 500_000, scalars: NO_SCALARS };
  return {
    ...{ id, address: NOWHERE, capacity, gpuModels: [], portRange: { first: 20_000, last: 32_000 } },
    reserved: { cpuMilli: 0, memoryMib: 0, diskMib: 0, scalars: NO_SCALARS },
    attributes: { os: 'linux', arch: 'x64', 'driver.exec': 'true' },
    ...{ bootId: id, incarnation: 1, agentVersion: '0' },
  };
}

/** Hosts that never answer. */
const silentHosts: HttpClient = {
  call: ({ signal }) => silence(signal),
  stream: ({ signal }) => silence(signal),
  close: () => Promise.resolve(),
};

function silence(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    const cut = (): void => reject(new HttpError('the warm-up is over', { sent: false }));
    if (signal === undefined || signal.aborted) cut();
    else onAbort(signal, cut);
  });
}

const noServer: HttpServer = {
  listen: () => Promise.resolve({ address: NOWHERE, close: () => Promise.resolve() }),
};
