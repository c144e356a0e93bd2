import type { CellKeys } from '../../src/core/cell/keys.ts';
import { STEP_IN_MAX_MS, STEP_IN_MS } from '../../src/core/cell/ownership.ts';
import type { Owner } from '../../src/core/cell/cell.ts';
import type { CellStore, Session } from '../../src/ports/cell-store.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import { ownerCodec } from '../../src/wire/records/records.ts';
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
  /** Is the job there, without an owner that we know of, and not left alone on its last owner's word? */
  readonly isOpen: (key: string) => boolean;
  /** Is one of the schedulers that come before us for the job taking jobs at this time? Then its turn comes there. */
  readonly isAwaited: (key: string) => boolean;
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
/** How often those are looked at whose time may have come. */
const LOOK_MS = STEP_IN_MS / 2;

/**
 * Creates owner keys for jobs that wait for an owner, many in a transaction and several transactions at once. A job that
 * looks new is taken on the condition that nothing else of it is there, so that nobody has to read what it has (decision 75).
 */
export class Takes {
  readonly #deps: TakesDeps;
  readonly #parts: TakesParts;
  /** Jobs without an owner that are ours to take, by namespace. The namespace whose turn comes next is the first. */
  readonly #lines = new Map<string, Set<string>>();
  /** Jobs without an owner that others are to take, or that are tried again later. */
  readonly #later = new Map<string, Wait>();
  /** Jobs whose owner keys are being created. */
  readonly #asked = new Set<string>();
  /** Jobs that looked new and are not: the store holds something of them. */
  readonly #notBare = new Set<string>();
  #underWay = 0;
  #cancelLook: (() => void) | null = null;

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
    for (const jobs of this.#lines.values()) yield* jobs;
    yield* this.#later.keys();
  }

  /**
   * We take the job when nobody was faster, after the delay or as soon as an earlier wish said. A delay leaves it to those
   * before us; while one of them is taking jobs, for up to `STEP_IN_MAX_MS` more: they come to it in their own order, and
   * whoever reached for it meanwhile would have its take, and theirs, refused for all that is in it.
   */
  want(key: string, delayMs: number): void {
    if (delayMs === 0) {
      this.#later.delete(key);
      this.#line(key);
      void this.#takeDue();
    } else if (this.#lines.get(namespaceOf(key))?.has(key) !== true) {
      this.#wait(key, delayMs);
      this.#lookSoon();
    }
  }

  /** Somebody has it. */
  leave(key: string): void {
    if (this.#later.delete(key)) return;
    const namespace = namespaceOf(key);
    const jobs = this.#lines.get(namespace);
    jobs?.delete(key);
    if (jobs?.size === 0) this.#lines.delete(namespace);
  }

  /** It is ours or gone: whether it was new means nothing any more. */
  forget(key: string): void {
    this.leave(key);
    this.#notBare.delete(key);
  }

  close(): void {
    this.#cancelLook?.();
  }

  #lookSoon(): void {
    if (this.#cancelLook === null) this.#lookAfter(LOOK_MS);
  }

  #lookAfter(delayMs: number): void {
    this.#cancelLook?.();
    this.#cancelLook = null;
    if (this.#deps.signal.aborted) return;
    this.#cancelLook = this.#deps.clock.after(delayMs, () => {
      this.#cancelLook = null;
      this.#look();
    });
  }

  #look(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    for (const [key, wait] of this.#later) {
      if (wait.dueMs > nowMs) continue;
      if (!this.#isForUs(key)) this.#later.delete(key);
      else if (nowMs < wait.lastMs && this.#parts.isAwaited(key))
        wait.dueMs = Math.min(nowMs + STEP_IN_MS, wait.lastMs);
      else {
        this.#later.delete(key);
        this.#line(key);
      }
    }
    if (this.#lines.size > 0) void this.#takeDue();
    if (this.#later.size > 0) this.#lookSoon();
  }

  async #takeDue(): Promise<void> {
    if (this.#underWay >= TAKES_MAX) return;
    this.#underWay += 1;
    // Lets what comes in the same turn, such as a whole snapshot of jobs, go into the same transactions.
    await Promise.resolve();
    let isFaulty = false;
    try {
      for (let due = this.#due(); this.#mayTake(due); due = this.#due()) await this.#take(due.keys);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#deps.log.warn({ error }, 'cannot take jobs');
      isFaulty = true;
    } finally {
      this.#underWay -= 1;
    }
    if (isFaulty) this.#lookAfter(TAKE_RETRY_MS);
    else if (this.#underWay === 0 && this.#lines.size > 0) this.#lookSoon();
  }

  /** Beside another take only a full one goes: the rest waits for that other, and grows meanwhile. */
  #mayTake({ keys, isFull }: Due): boolean {
    if (keys.length === 0 || this.#deps.signal.aborted) return false;
    return this.#underWay === 1 || isFull;
  }

  #line(key: string): void {
    const namespace = namespaceOf(key);
    const jobs = this.#lines.get(namespace);
    if (jobs === undefined) this.#lines.set(namespace, new Set([key]));
    else jobs.add(key);
  }

  #wait(key: string, delayMs: number): void {
    const dueMs = this.#deps.clock.monotonicMs() + delayMs;
    const before = this.#later.get(key);
    if (before === undefined) this.#later.set(key, { dueMs, lastMs: dueMs + STEP_IN_MAX_MS });
    else before.dueMs = Math.min(before.dueMs, dueMs);
  }

  /** What goes into one take: a job of each namespace in turn, so that a few of one do not wait for thousands of another (S3.47). */
  #due(): Due {
    const due: string[] = [];
    let room = this.#deps.store.limits.operationsMax;
    const lines = [...this.#lines].map(([namespace, jobs]) => ({ namespace, jobs: this.#takeable(jobs) }));
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

  /** Those of a namespace that are for us, in the order in which they came. */
  *#takeable(jobs: ReadonlySet<string>): Generator<string> {
    for (const key of jobs) {
      if (this.#asked.has(key)) continue;
      if (this.#isForUs(key)) yield key;
      else this.leave(key);
    }
  }

  #isForUs(key: string): boolean {
    return this.#parts.jobs.get(key)?.kind === this.#deps.self.kind;
  }

  /** The others come first in the next take. */
  #hadTurn(namespace: string): void {
    const jobs = this.#lines.get(namespace);
    if (jobs === undefined || this.#lines.size === 1) return;
    this.#lines.delete(namespace);
    this.#lines.set(namespace, jobs);
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
      // Somebody was faster for some of them; the table will say who, or has said already that they are gone again. The rest
      // goes into the next try.
      if (reply.found.size === 0) for (const key of bare) this.#notBare.add(key);
      for (const key of due) {
        const found = reply.found.get(keys.owners + key);
        if (found === undefined) continue;
        this.leave(key);
        if (found.value === value) this.#parts.adopt(key, found.createRevision, false);
        else if (this.#parts.isOpen(key)) this.#wait(key, TAKE_RETRY_MS);
      }
      if (this.#later.size > 0) this.#lookSoon();
    } else {
      // If it was done after all, the table shows our own value now or later, and the job is adopted then.
      for (const key of due) {
        this.leave(key);
        this.#wait(key, TAKE_RETRY_MS);
        const ownRevision = this.#parts.ownRevisionOf(key);
        if (ownRevision !== undefined) this.#parts.adopt(key, ownRevision, false);
      }
      this.#lookSoon();
    }
  }
}

/** A job that is not ours to take yet. */
interface Wait {
  /** When it is looked at next (monotonic). */
  dueMs: number;
  /** From then on nobody is waited for. */
  readonly lastMs: number;
}

/** Jobs for one take; full when the transaction holds no more of them. */
interface Due {
  readonly keys: readonly string[];
  readonly isFull: boolean;
}

function namespaceOf(key: string): string {
  return key.slice(0, key.indexOf('/'));
}
