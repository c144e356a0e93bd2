import type { CellKeys } from '../src/core/keys.ts';
import { STEP_IN_MS } from '../src/core/ownership.ts';
import type { Owner } from '../src/core/role.ts';
import type { CellStore, Session } from '../src/ports/cell-store.ts';
import { StoreError } from '../src/ports/cell-store.ts';
import type { Clock } from '../src/ports/clock.ts';
import type { Log } from '../src/ports/telemetry.ts';
import { ownerCodec } from '../src/wire/records.ts';
import type { JobIndex } from './job-index.ts';

export interface TakesDeps {
  readonly store: CellStore;
  readonly keys: CellKeys;
  readonly clock: Clock;
  readonly log: Log;
  readonly session: Session;
  readonly signal: AbortSignal;
  readonly self: Owner;
  /** Jobs that were asked for are ours, or not: `asked` is smaller. */
  onTaken(): void;
}

export interface TakesParts {
  readonly jobs: Pick<JobIndex, 'get'>;
  /** Creation revision of the job's owner key, where the table shows that it is ours. */
  readonly ownRevisionOf: (key: string) => number | undefined;
  /** The job is ours. */
  readonly adopt: (key: string, ownerRevision: number, isBare: boolean) => void;
}

/** Takes under way at once: with one alone, thousands of new jobs wait for each other's round trips. */
const TAKES_MAX = 4;
/** A job that looks new is taken on the condition that there are no allocations and no outcomes of it. */
const BARE_COMPARES = 3;
/** After a fault of the store, before the next try to take jobs. */
const TAKE_RETRY_MS = 1_000;

/**
 * Creates owner keys for jobs that wait for an owner, many in a transaction and several transactions at once. A job that
 * looks new is taken on the condition that nothing else of it is there, so that nobody has to read what it has (decision 75).
 */
export class Takes {
  readonly #deps: TakesDeps;
  readonly #parts: TakesParts;
  /** Jobs without an owner by namespace, and from when on we may take them (monotonic). The namespace whose turn comes next is the first. */
  readonly #waiting = new Map<string, Map<string, number>>();
  /** Jobs whose owner keys are being created. */
  readonly #asked = new Set<string>();
  /** Jobs that looked new and are not: the store holds something of them. */
  readonly #notBare = new Set<string>();
  #underWay = 0;
  #cancelTick: () => void = () => undefined;

  constructor(deps: TakesDeps, parts: TakesParts) {
    this.#deps = deps;
    this.#parts = parts;
  }

  /** Jobs that are being taken at this moment. */
  get asked(): number {
    return this.#asked.size;
  }

  isAsked(key: string): boolean {
    return this.#asked.has(key);
  }

  *waiting(): IterableIterator<string> {
    for (const jobs of this.#waiting.values()) yield* jobs.keys();
  }

  /** We take the job when nobody was faster, after the delay or as soon as an earlier wish said. */
  want(key: string, delayMs: number): void {
    const dueMs = this.#deps.clock.monotonicMs() + delayMs;
    this.#wait(key, Math.min(dueMs, this.#waiting.get(namespaceOf(key))?.get(key) ?? dueMs));
    if (delayMs === 0) void this.#takeDue();
    else this.#tick(STEP_IN_MS / 2);
  }

  /** Somebody has it. */
  leave(key: string): void {
    const namespace = namespaceOf(key);
    const jobs = this.#waiting.get(namespace);
    jobs?.delete(key);
    if (jobs?.size === 0) this.#waiting.delete(namespace);
  }

  /** It is ours or gone: whether it was new means nothing any more. */
  forget(key: string): void {
    this.leave(key);
    this.#notBare.delete(key);
  }

  close(): void {
    this.#cancelTick();
  }

  #tick(delayMs: number): void {
    this.#cancelTick();
    if (this.#deps.signal.aborted) return;
    this.#cancelTick = this.#deps.clock.after(delayMs, () => void this.#takeDue());
  }

  async #takeDue(): Promise<void> {
    if (this.#underWay >= TAKES_MAX) return;
    this.#underWay += 1;
    // Lets what comes in the same turn, such as a whole snapshot of jobs, go into the same transactions.
    await Promise.resolve();
    let retryMs = STEP_IN_MS / 2;
    try {
      for (let due = this.#due(); this.#mayTake(due); due = this.#due()) await this.#take(due.keys);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#deps.log.warn({ error }, 'cannot take jobs');
      retryMs = TAKE_RETRY_MS;
    } finally {
      this.#underWay -= 1;
    }
    if (this.#underWay === 0 && this.#waiting.size > 0) this.#tick(retryMs);
  }

  /** Beside another take only a full one goes: the rest waits for that other, and grows meanwhile. */
  #mayTake({ keys, isFull }: Due): boolean {
    if (keys.length === 0 || this.#deps.signal.aborted) return false;
    return this.#underWay === 1 || isFull;
  }

  #wait(key: string, dueMs: number): void {
    const namespace = namespaceOf(key);
    let jobs = this.#waiting.get(namespace);
    if (jobs === undefined) this.#waiting.set(namespace, (jobs = new Map<string, number>()));
    jobs.set(key, dueMs);
  }

  /** What goes into one take: a job of each namespace in turn, so that a few of one do not wait for thousands of another (S3.47). */
  #due(): Due {
    const due: string[] = [];
    let room = this.#deps.store.limits.operationsMax;
    const lines = [...this.#waiting].map(([namespace, jobs]) => ({ namespace, jobs: this.#takeable(jobs) }));
    for (let left = lines; left.length > 0;) {
      const more: typeof lines = [];
      for (const line of left) {
        const { value: key } = line.jobs.next() as { value: string | undefined };
        if (key === undefined) continue;
        room -= this.#looksBare(key) ? BARE_COMPARES : 1;
        if (room < 0) return { keys: due, isFull: true };
        due.push(key);
        this.#hadTurn(line.namespace);
        more.push(line);
      }
      left = more;
    }
    return { keys: due, isFull: room === 0 };
  }

  /** Those of a namespace that are due and for us, in the order in which they came. */
  *#takeable(jobs: Map<string, number>): Generator<string> {
    const nowMs = this.#deps.clock.monotonicMs();
    for (const [key, dueMs] of jobs) {
      if (dueMs > nowMs || this.#asked.has(key)) continue;
      if (this.#parts.jobs.get(key)?.kind === this.#deps.self.kind) yield key;
      else this.leave(key);
    }
  }

  /** The others come first in the next take. */
  #hadTurn(namespace: string): void {
    const jobs = this.#waiting.get(namespace);
    if (jobs === undefined || this.#waiting.size === 1) return;
    this.#waiting.delete(namespace);
    this.#waiting.set(namespace, jobs);
  }

  #looksBare(key: string): boolean {
    return this.#parts.jobs.get(key)?.isNew === true && !this.#notBare.has(key);
  }

  async #take(due: readonly string[]): Promise<void> {
    for (const key of due) this.#asked.add(key);
    try {
      await this.#create(due);
    } finally {
      for (const key of due) this.#asked.delete(key);
      this.#deps.onTaken();
    }
  }

  /** Their owner keys, all or none. */
  async #create(due: readonly string[]): Promise<void> {
    const { store, keys, self, session } = this.#deps;
    const value = ownerCodec.encode(self);
    const ownerKeys = due.map((key) => keys.owners + key);
    const bare = new Set(due.filter((key) => this.#looksBare(key)));
    const empty: string[] = [];
    for (const key of bare) {
      const [namespace = '', job = ''] = key.split('/');
      empty.push(keys.allocationsOf(namespace, job), keys.outcomesOf(namespace, job));
    }
    const reply = await store.attempt({
      compares: ownerKeys.map((key) => ({ key, target: 'createRevision' as const, equals: 0 })),
      empty,
      writes: ownerKeys.map((key) => ({ kind: 'put' as const, key, value, session })),
      readBack: ownerKeys,
    });
    if (reply.outcome === 'applied') {
      for (const key of due) this.#parts.adopt(key, reply.revision, bare.has(key));
    } else if (reply.outcome === 'refused') {
      // Somebody was faster for some of them; the table will say who. The rest goes into the next try.
      if (reply.found.size === 0) for (const key of bare) this.#notBare.add(key);
      for (const key of due) {
        const found = reply.found.get(keys.owners + key);
        if (found === undefined) continue;
        this.leave(key);
        if (found.value === value) this.#parts.adopt(key, found.createRevision, false);
      }
    } else {
      // If it was done after all, the table shows our own value now or later, and the job is adopted then.
      const laterMs = this.#deps.clock.monotonicMs() + TAKE_RETRY_MS;
      for (const key of due) {
        this.#wait(key, laterMs);
        const ownRevision = this.#parts.ownRevisionOf(key);
        if (ownRevision !== undefined) this.#parts.adopt(key, ownRevision, false);
      }
    }
  }
}

/** Jobs for one take; full when the transaction holds no more of them. */
interface Due {
  readonly keys: readonly string[];
  readonly isFull: boolean;
}

function namespaceOf(key: string): string {
  return key.slice(0, key.indexOf('/'));
}
