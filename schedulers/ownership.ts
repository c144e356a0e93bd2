import type { JobRecord, SchedulerKind } from '../src/core/job.ts';
import type { CellKeys } from '../src/core/keys.ts';
import { ownerRank, STEP_IN_MS, stepInDelayMs } from '../src/core/ownership.ts';
import type { Owner, RoleRecord } from '../src/core/role.ts';
import type { CellStore, Session } from '../src/ports/cell-store.ts';
import { StoreError } from '../src/ports/cell-store.ts';
import type { Clock } from '../src/ports/clock.ts';
import type { Log } from '../src/ports/telemetry.ts';
import type { TableRow } from '../src/runtime/table.ts';
import { Table } from '../src/runtime/table.ts';
import { ownerCodec, roleCodec } from '../src/wire/records.ts';
import type { JobRow } from './job-index.ts';
import { JobIndex } from './job-index.ts';
import { kindOfPolicyText } from './options.ts';
import type { Part } from './own-part.ts';

export interface OwnershipDeps {
  readonly store: CellStore;
  readonly keys: CellKeys;
  readonly clock: Clock;
  readonly log: Log;
  readonly session: Session;
  readonly signal: AbortSignal;
  readonly self: Owner;
  /**
   * The job is ours; `ownerRevision` is what every commit for it must compare. `isBare`: when it became ours, the store held
   * nothing of it but its first record.
   */
  onOwned(key: string, row: OwnedRecord, ownerRevision: number, isBare: boolean): void;
  /** Jobs that were asked for are ours, or not: `asked` is smaller. */
  onTaken(): void;
  /** The job is no longer ours: nothing may be done for it any more. */
  onLost(key: string): void;
  /** The record of a job of ours changed; undefined: it was deleted. */
  onRecord(key: string, row: OwnedRecord | undefined): void;
}

export interface OwnedRecord {
  readonly value: JobRecord;
  readonly modRevision: number;
}

/** Takes under way at once: with one alone, thousands of new jobs wait for each other's round trips. */
const TAKES_MAX = 4;
/** A job that looks new is taken on the condition that there are no allocations and no outcomes of it. */
const BARE_COMPARES = 3;
/** After a fault of the store, before the next try to take jobs. */
const TAKE_RETRY_MS = 1_000;

/**
 * Which jobs this scheduler works on. A job without an owner goes to the first of the living schedulers of its kind, in
 * the job's own rendezvous order; the others step in later, rank by rank. Whoever creates the owner key has it.
 *
 * An owner that has finished a job deletes its key. The others see that it did so while it lived, take its word, and
 * leave the job alone until its record changes or that scheduler is gone; then somebody looks again.
 */
export class Ownership {
  readonly ready: Promise<unknown>;
  readonly #deps: OwnershipDeps;
  readonly #jobs: JobIndex;
  readonly #owners: Table<Owner>;
  readonly #roles: Table<RoleRecord>;
  /** Creation revisions of our owner keys. */
  readonly #owned = new Map<string, number>();
  /** Jobs that their owner has done with, at this revision of their record. */
  readonly #settled = new Map<string, Settled>();
  /** Jobs without an owner, and from when on we may take them (monotonic). */
  readonly #waiting = new Map<string, number>();
  /** Jobs whose owner keys are being created. */
  readonly #asked = new Set<string>();
  /** Jobs that looked new and are not: the store holds something of them. */
  readonly #notBare = new Set<string>();
  #ownPart: Part = { part: 0, parts: 1 };
  #started = false;
  #takes = 0;
  #cancelTick: () => void = () => undefined;

  constructor(deps: OwnershipDeps) {
    this.#deps = deps;
    const { store, keys } = deps;
    const onBadRecord = (error: Error, key: string): void =>
      deps.log.error({ key, error }, 'unreadable record');
    this.#roles = new Table<RoleRecord>(store, `${keys.roles}scheduler/`, roleCodec, {
      onBadRecord,
      onChange: (name, now) => this.#onRole(name, now !== undefined),
    });
    this.#owners = new Table<Owner>(store, keys.owners, ownerCodec, {
      onBadRecord,
      onChange: (name, now, before) => this.#onOwner(name, now, before),
    });
    this.#jobs = new JobIndex(store, keys.jobs, {
      onBadRecord,
      onChange: (name, now) => this.#onJob(name, now),
    });
    this.ready = Promise.all([this.#roles.ready, this.#owners.ready, this.#jobs.ready]);
    // A term that ends before it has begun waits for nobody.
    this.ready.catch(() => undefined);
  }

  /** Begins to take jobs, once all tables are there: half a view would take what belongs to others. */
  start(): void {
    this.#started = true;
    for (const key of this.#jobs.keys()) this.#consider(key);
  }

  close(): void {
    this.#cancelTick();
    for (const table of [this.#jobs, this.#owners, this.#roles]) table.close();
  }

  /** This scheduler's place among all living ones that choose hosts, by name. */
  get ownPart(): Part {
    return this.#ownPart;
  }

  /** Jobs that are being taken at this moment. */
  get asked(): number {
    return this.#asked.size;
  }

  revisionOf(key: string): number | undefined {
    return this.#owned.get(key);
  }

  /**
   * Nothing is left to do for the job as its record stood at `recordRevision`: gives up the owner key.
   * @returns false: the record has changed meanwhile, look again
   */
  async finish(key: string, recordRevision: number): Promise<boolean> {
    const ownerRevision = this.#owned.get(key);
    if (ownerRevision === undefined) return true;
    const { store, keys } = this.#deps;
    // Before the attempt: the watch may tell of the deletion before the reply does.
    const settled = { recordRevision, by: this.#deps.self.scheduler, ownerRevision };
    this.#settled.set(key, settled);
    // A job that was deleted has no record to compare with; its revision is 0 in the store and here.
    const jobRevision = this.#jobs.get(key) === undefined ? 0 : recordRevision;
    const reply = await store.attempt({
      compares: [
        { key: keys.owners + key, target: 'createRevision', equals: ownerRevision },
        { key: keys.jobs + key, target: 'modRevision', equals: jobRevision },
      ],
      writes: [{ kind: 'delete', key: keys.owners + key }],
      readBack: [],
    });
    if (reply.outcome !== 'applied') {
      if (this.#settled.get(key) === settled) this.#settled.delete(key);
      return false;
    }
    if (this.#owned.get(key) === ownerRevision) this.#lose(key);
    if (this.#jobs.get(key)?.modRevision !== recordRevision) this.#consider(key);
    return true;
  }

  #onJob(key: string, now: JobRow | undefined): void {
    if (this.#owned.has(key)) this.#changed(key, now);
    else if (now === undefined) this.#forget(key);
    else this.#consider(key);
  }

  /** A record that cannot be read changes nothing: the job goes on as it was. */
  #changed(key: string, now: JobRow | undefined): void {
    const value = now?.read();
    if (now === undefined) this.#deps.onRecord(key, undefined);
    else if (value != null) this.#deps.onRecord(key, { value, modRevision: now.modRevision });
  }

  #forget(key: string): void {
    this.#notBare.delete(key);
    this.#settled.delete(key);
    this.#waiting.delete(key);
  }

  #onOwner(key: string, now: TableRow<Owner> | undefined, before: TableRow<Owner> | undefined): void {
    const held = this.#owned.get(key);
    // Late news of a key that we have given up since.
    if (now !== undefined && this.#settled.get(key)?.ownerRevision === now.createRevision) return;
    // Late news of an earlier ownership of ours: the key that we hold was created after it.
    if (now !== undefined && held !== undefined && now.createRevision < held) return;
    if (now !== undefined && this.#isOurs(now.value)) {
      // The reply will tell more.
      if (this.#asked.has(key)) return;
      if (held !== undefined && held !== now.createRevision) this.#lose(key);
      this.#adopt(key, now.createRevision);
      return;
    }
    // The watch may be late: news from before our own creation says nothing about it.
    const isOlder = held !== undefined && (now?.modRevision ?? this.#owners.revision) < held;
    if (isOlder) return;
    if (held !== undefined) this.#lose(key);
    if (now !== undefined) {
      this.#waiting.delete(key);
      return;
    }
    const by = before?.value.scheduler;
    const recordRevision = this.#jobs.get(key)?.modRevision;
    const isTheirWord =
      by !== undefined && by !== this.#deps.self.scheduler && this.#roles.get(by) !== undefined;
    if (isTheirWord && recordRevision !== undefined)
      this.#settled.set(key, { recordRevision, by, ownerRevision: 0 });
    this.#consider(key);
  }

  #findPart(): void {
    const self = this.#deps.self.scheduler;
    let part = 0;
    let parts = 1;
    for (const [name, { value }] of this.#roles.rows()) {
      // A system job says itself where it runs.
      if (name === self || kindOfPolicyText(value.policy) === 'system') continue;
      parts += 1;
      if (name < self) part += 1;
    }
    this.#ownPart = { part, parts };
  }

  #onRole(name: string, isThere: boolean): void {
    this.#findPart();
    if (!isThere) {
      for (const [key, { by }] of this.#settled) {
        if (by !== name) continue;
        this.#settled.delete(key);
        this.#consider(key);
      }
    }
    for (const key of this.#waiting.keys()) this.#consider(key);
  }

  #isOurs(owner: Owner): boolean {
    return owner.scheduler === this.#deps.self.scheduler && owner.sinceMs === this.#deps.self.sinceMs;
  }

  #consider(key: string): void {
    if (!this.#started) return;
    const row = this.#jobs.get(key);
    if (row === undefined || this.#owned.has(key) || this.#owners.get(key) !== undefined) return;
    if (this.#settled.get(key)?.recordRevision === row.modRevision) return;
    const delayMs = stepInDelayMs(ownerRank(key, this.#others(), this.#deps.self.scheduler));
    // The others look only when their turn comes: until then the job mostly has an owner, and was never read here.
    if (delayMs === 0 && row.kind !== this.#deps.self.kind) return;
    const dueMs = this.#deps.clock.monotonicMs() + delayMs;
    this.#waiting.set(key, Math.min(dueMs, this.#waiting.get(key) ?? dueMs));
    if (delayMs === 0) void this.#takeDue();
    else this.#tick(STEP_IN_MS / 2);
  }

  *#others(): IterableIterator<string> {
    for (const [name, { value }] of this.#roles.rows()) {
      if (kindOfPolicyText(value.policy) === this.#deps.self.kind) yield name;
    }
  }

  #tick(delayMs: number): void {
    this.#cancelTick();
    if (this.#deps.signal.aborted) return;
    this.#cancelTick = this.#deps.clock.after(delayMs, () => void this.#takeDue());
  }

  async #takeDue(): Promise<void> {
    if (this.#takes >= TAKES_MAX) return;
    this.#takes += 1;
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
      this.#takes -= 1;
    }
    if (this.#takes === 0 && this.#waiting.size > 0) this.#tick(retryMs);
  }

  /** Beside another take only a full one goes: the rest waits for that other, and grows meanwhile. */
  #mayTake({ keys, isFull }: Due): boolean {
    if (keys.length === 0 || this.#deps.signal.aborted) return false;
    return this.#takes === 1 || isFull;
  }

  #due(): Due {
    const nowMs = this.#deps.clock.monotonicMs();
    const due: string[] = [];
    let room = this.#deps.store.limits.operationsMax;
    for (const [key, dueMs] of this.#waiting) {
      if (dueMs > nowMs || this.#asked.has(key)) continue;
      if (this.#jobs.get(key)?.kind !== this.#deps.self.kind) {
        this.#waiting.delete(key);
        continue;
      }
      room -= this.#looksBare(key) ? BARE_COMPARES : 1;
      if (room < 0) return { keys: due, isFull: true };
      due.push(key);
    }
    return { keys: due, isFull: room === 0 };
  }

  #looksBare(key: string): boolean {
    return this.#jobs.get(key)?.isNew === true && !this.#notBare.has(key);
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
      for (const key of due) this.#adopt(key, reply.revision, bare.has(key));
    } else if (reply.outcome === 'refused') {
      // Somebody was faster for some of them; the table will say who. The rest goes into the next try.
      if (reply.found.size === 0) for (const key of bare) this.#notBare.add(key);
      for (const key of due) {
        const found = reply.found.get(keys.owners + key);
        if (found === undefined) continue;
        this.#waiting.delete(key);
        if (found.value === value) this.#adopt(key, found.createRevision);
      }
    } else {
      // If it was done after all, the table shows our own value now or later, and the job is adopted then.
      const laterMs = this.#deps.clock.monotonicMs() + TAKE_RETRY_MS;
      for (const key of due) {
        this.#waiting.set(key, laterMs);
        const row = this.#owners.get(key);
        if (row !== undefined && this.#isOurs(row.value)) this.#adopt(key, row.createRevision);
      }
    }
  }

  #adopt(key: string, ownerRevision: number, isBare = false): void {
    this.#waiting.delete(key);
    this.#notBare.delete(key);
    if (this.#owned.has(key) || this.#deps.signal.aborted) return;
    const row = this.#jobs.get(key);
    const value = row?.read();
    if (row === undefined || value == null) return;
    this.#owned.set(key, ownerRevision);
    this.#settled.delete(key);
    const isFirst = isBare && row.isNew && value.version === 1;
    this.#deps.onOwned(key, { value, modRevision: row.modRevision }, ownerRevision, isFirst);
  }

  #lose(key: string): void {
    this.#owned.delete(key);
    this.#deps.onLost(key);
  }
}

export function ownerOf(id: string, kind: SchedulerKind, sinceMs: number): Owner {
  return { scheduler: id, kind, sinceMs };
}

/** Jobs for one take; full when the transaction holds no more of them. */
interface Due {
  readonly keys: readonly string[];
  readonly isFull: boolean;
}

/** An owner's word that nothing is left to do. */
interface Settled {
  /** Of the job's record as the owner saw it. */
  readonly recordRevision: number;
  readonly by: string;
  /** Of the owner key that was given up for it, when it was ours; otherwise 0. */
  readonly ownerRevision: number;
}
