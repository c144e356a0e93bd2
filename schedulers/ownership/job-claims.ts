import type { CellKeys } from '../../src/core/cell/keys.ts';
import { STEP_IN_MAX_MS, STEP_IN_MS } from '../../src/core/cell/ownership.ts';
import type { Owner } from '../../src/core/cell/cell.ts';
import type { CellStore, Session } from '../../src/ports/cell-store.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import { ownerCodec } from '../../src/wire/records/records.ts';
import type { FirstPlacement } from './first-placement.ts';
import type { JobIndex } from './job-index.ts';

export interface JobClaimsDeps {
  readonly store: CellStore;
  readonly keys: CellKeys;
  readonly clock: Clock;
  readonly log: Log;
  readonly session: Session;
  readonly signal: AbortSignal;
  readonly self: Owner;
  /** A claim has ended, with or without success: `pending` is smaller. */
  onClaimed(): void;
}

export interface JobClaimsParts {
  readonly jobs: Pick<JobIndex, 'get'>;
  /** Has the job a record, no known owner, and none that finished it? */
  readonly isOpen: (key: string) => boolean;
  /** Is a scheduler that comes before this one for the job claiming jobs at this time? It will come to this one. */
  readonly isAwaited: (key: string) => boolean;
  /** Creation revision of the job's owner key, where the table shows that it is this scheduler's. */
  readonly ownRevisionOf: (key: string) => number | undefined;
  /** What may be placed of a new job by the transaction that claims it; null: nothing. */
  readonly firstPlacement: (key: string) => FirstPlacement | null;
  /** @param placed by the same transaction; absent: nothing */
  readonly adopt: (key: string, ownerRevision: number, isBare: boolean, placed?: FirstPlacement) => void;
}

/** Claims under way at once: with one alone, thousands of new jobs wait for each other's round trips. */
const CLAIMS_MAX = 4;
/** A job that looks new is claimed on the condition that there are no allocations and no outcomes of it. */
const BARE_COMPARES = 3;
/** After a fault of the store, before the next claim. */
const CLAIM_RETRY_MS = 1_000;
const CHECK_MS = STEP_IN_MS / 2;

/**
 * Creates owner keys for jobs without an owner, many in a transaction and several transactions at once.
 *
 * A job whose creation this scheduler saw is claimed on the condition that no key lies under its allocations and outcomes:
 * its first decision then needs no read. The condition costs three compares a job and is part of the transaction that creates
 * the owner key; a refused claim is repeated without it, and the job is read.
 */
export class JobClaims {
  readonly #deps: JobClaimsDeps;
  readonly #parts: JobClaimsParts;
  /** Jobs that are to be claimed now, by namespace; the next namespace is the first. */
  readonly #queues = new Map<string, Set<string>>();
  /** Jobs that other schedulers should claim first, or that are tried again later. */
  readonly #delayed = new Map<string, Delay>();
  readonly #pending = new Set<string>();
  /** Jobs that looked new and are not: the store holds something of them. */
  readonly #notBare = new Set<string>();
  #underWay = 0;
  #cancelCheck: (() => void) | null = null;

  constructor(deps: JobClaimsDeps, parts: JobClaimsParts) {
    this.#deps = deps;
    this.#parts = parts;
  }

  get pending(): number {
    return this.#pending.size;
  }

  isPending(key: string): boolean {
    return this.#pending.has(key);
  }

  *waiting(): IterableIterator<string> {
    for (const jobs of this.#queues.values()) yield* jobs;
    yield* this.#delayed.keys();
  }

  /**
   * Claims the job unless another scheduler does first, after the delay or an earlier one. A delay leaves the job to the
   * schedulers that come before this one; while one of them is claiming jobs, for up to `STEP_IN_MAX_MS` more: they come to it
   * in their own order, and a claim meanwhile would have theirs, or this one, refused for all jobs in it.
   */
  want(key: string, delayMs: number): void {
    if (delayMs === 0) {
      this.#delayed.delete(key);
      this.#enqueue(key);
      void this.#claimDue();
    } else if (this.#queues.get(namespaceOf(key))?.has(key) !== true) {
      this.#delay(key, delayMs);
      this.#checkSoon();
    }
  }

  withdraw(key: string): void {
    if (this.#delayed.delete(key)) return;
    const namespace = namespaceOf(key);
    const jobs = this.#queues.get(namespace);
    jobs?.delete(key);
    if (jobs?.size === 0) this.#queues.delete(namespace);
  }

  /** It is claimed or deleted: whether it was new means nothing any more. */
  forget(key: string): void {
    this.withdraw(key);
    this.#notBare.delete(key);
  }

  close(): void {
    this.#cancelCheck?.();
  }

  #checkSoon(): void {
    if (this.#cancelCheck === null) this.#checkAfter(CHECK_MS);
  }

  #checkAfter(delayMs: number): void {
    this.#cancelCheck?.();
    this.#cancelCheck = null;
    if (this.#deps.signal.aborted) return;
    this.#cancelCheck = this.#deps.clock.after(delayMs, () => {
      this.#cancelCheck = null;
      this.#check();
    });
  }

  #check(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    for (const [key, delay] of this.#delayed) {
      if (delay.dueMs > nowMs) continue;
      if (!this.#isOwnKind(key)) this.#delayed.delete(key);
      else if (nowMs < delay.lastMs && this.#parts.isAwaited(key))
        delay.dueMs = Math.min(nowMs + STEP_IN_MS, delay.lastMs);
      else {
        this.#delayed.delete(key);
        this.#enqueue(key);
      }
    }
    if (this.#queues.size > 0) void this.#claimDue();
    if (this.#delayed.size > 0) this.#checkSoon();
  }

  async #claimDue(): Promise<void> {
    if (this.#underWay >= CLAIMS_MAX) return;
    this.#underWay += 1;
    // Lets all jobs of the same turn, such as a whole snapshot, go into the same transactions.
    await Promise.resolve();
    let isFaulty = false;
    try {
      for (let due = this.#due(); this.#mayClaim(due); due = this.#due()) await this.#claim(due.keys);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#deps.log.warn({ error }, 'cannot claim jobs');
      isFaulty = true;
    } finally {
      this.#underWay -= 1;
    }
    if (isFaulty) this.#checkAfter(CLAIM_RETRY_MS);
    else if (this.#underWay === 0 && this.#queues.size > 0) this.#checkSoon();
  }

  /** Beside another claim only a full one goes: the rest waits for the other one, and grows meanwhile. */
  #mayClaim({ keys, isFull }: Due): boolean {
    if (keys.length === 0 || this.#deps.signal.aborted) return false;
    return this.#underWay === 1 || isFull;
  }

  #enqueue(key: string): void {
    const namespace = namespaceOf(key);
    const jobs = this.#queues.get(namespace);
    if (jobs === undefined) this.#queues.set(namespace, new Set([key]));
    else jobs.add(key);
  }

  #delay(key: string, delayMs: number): void {
    const dueMs = this.#deps.clock.monotonicMs() + delayMs;
    const before = this.#delayed.get(key);
    if (before === undefined) this.#delayed.set(key, { dueMs, lastMs: dueMs + STEP_IN_MAX_MS });
    else before.dueMs = Math.min(before.dueMs, dueMs);
  }

  /** The jobs of one claim: one of each namespace in turn, so that a few of one do not wait for thousands of another (S3.47). */
  #due(): Due {
    const due: string[] = [];
    let left = this.#deps.store.limits.operationsMax;
    let queues = [...this.#queues].map(([namespace, jobs]) => ({ namespace, jobs: this.#claimable(jobs) }));
    while (queues.length > 0) {
      const more: typeof queues = [];
      for (const queue of queues) {
        const { value: key } = queue.jobs.next() as { value: string | undefined };
        if (key === undefined) continue;
        left -= this.#looksBare(key) ? BARE_COMPARES : 1;
        if (left < 0) return { keys: due, isFull: true };
        due.push(key);
        this.#toBack(queue.namespace);
        more.push(queue);
      }
      queues = more;
    }
    return { keys: due, isFull: left === 0 };
  }

  /** Jobs of a namespace for schedulers of this kind, first in, first out. */
  *#claimable(jobs: ReadonlySet<string>): Generator<string> {
    for (const key of jobs) {
      if (this.#pending.has(key)) continue;
      if (this.#isOwnKind(key)) yield key;
      else this.withdraw(key);
    }
  }

  #isOwnKind(key: string): boolean {
    return this.#parts.jobs.get(key)?.kind === this.#deps.self.kind;
  }

  /** The other namespaces come first in the next claim. */
  #toBack(namespace: string): void {
    const jobs = this.#queues.get(namespace);
    if (jobs === undefined || this.#queues.size === 1) return;
    this.#queues.delete(namespace);
    this.#queues.set(namespace, jobs);
  }

  #looksBare(key: string): boolean {
    return this.#parts.jobs.get(key)?.isNew === true && !this.#notBare.has(key);
  }

  async #claim(due: readonly string[]): Promise<void> {
    for (const key of due) this.#pending.add(key);
    try {
      const first = this.#firstPlacementOf(due);
      if (first === null) await this.#create(due);
      else await this.#createPlaced(due[0] ?? '', first);
    } finally {
      for (const key of due) this.#pending.delete(key);
      this.#deps.onClaimed();
    }
  }

  /** Only of a job that is claimed alone: others' transactions do not wait for a decision, and are not refused for a place. */
  #firstPlacementOf([key, ...others]: readonly string[]): FirstPlacement | null {
    if (key === undefined || others.length > 0 || this.#pending.size > 1 || !this.#looksBare(key))
      return null;
    return this.#parts.firstPlacement(key);
  }

  async #createPlaced(key: string, first: FirstPlacement): Promise<void> {
    let isClaimed = false;
    await first.commit((ownerRevision) => {
      isClaimed = true;
      this.#parts.adopt(key, ownerRevision, true, first);
    });
    // Whatever refused it: the next claim of it is alone, and asks for less.
    if (!isClaimed) this.#notBare.add(key);
  }

  /** Creates their owner keys, all or none. */
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
      // Other schedulers were faster for some of them; the table will show it, or shows already that they are gone again. The
      // rest goes into the next claim.
      if (reply.found.size === 0) for (const key of bare) this.#notBare.add(key);
      for (const key of due) {
        const found = reply.found.get(keys.owners + key);
        if (found === undefined) continue;
        this.withdraw(key);
        if (found.value === value) this.#parts.adopt(key, found.createRevision, false);
        else if (this.#parts.isOpen(key)) this.#delay(key, CLAIM_RETRY_MS);
      }
      if (this.#delayed.size > 0) this.#checkSoon();
    } else {
      // If it was applied after all, the table shows the own value now or later, and the job is adopted then.
      for (const key of due) {
        this.withdraw(key);
        this.#delay(key, CLAIM_RETRY_MS);
        const ownRevision = this.#parts.ownRevisionOf(key);
        if (ownRevision !== undefined) this.#parts.adopt(key, ownRevision, false);
      }
      this.#checkSoon();
    }
  }
}

interface Delay {
  dueMs: number;
  /** From then on no other scheduler is waited for. */
  readonly lastMs: number;
}

/** Jobs for one claim; full when the transaction holds no more of them. */
interface Due {
  readonly keys: readonly string[];
  readonly isFull: boolean;
}

function namespaceOf(key: string): string {
  return key.slice(0, key.indexOf('/'));
}
