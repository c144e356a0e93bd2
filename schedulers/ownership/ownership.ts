import type { JobRecord, SchedulerKind } from '../../src/core/cell/job.ts';
import { ownerRank, STEP_IN_MS, stepInDelayMs } from '../../src/core/cell/ownership.ts';
import type { Owner, RoleRecord } from '../../src/core/cell/cell.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import type { TableRow } from '../../src/runtime/records/records.ts';
import { Table } from '../../src/runtime/records/records.ts';
import { ownerCodec, roleCodec } from '../../src/wire/records/records.ts';
import type { JobRow } from './job-index.ts';
import { JobIndex } from './job-index.ts';
import { kindOfPolicyText } from '../policies/options.ts';
import type { Part } from '../decide/partition.ts';
import type { TakesDeps } from './job-claims.ts';
import { Takes } from './job-claims.ts';

export interface OwnershipDeps extends TakesDeps {
  /**
   * The job is ours; `ownerRevision` is what every commit for it must compare. `isBare`: when it became ours, the store held
   * nothing of it but its first record.
   */
  onOwned(key: string, row: OwnedRecord, ownerRevision: number, isBare: boolean): void;
  /** The job is no longer ours: nothing may be done for it any more. */
  onLost(key: string): void;
  /** The record of a job of ours changed; undefined: it was deleted. */
  onRecord(key: string, row: OwnedRecord | undefined): void;
}

export interface OwnedRecord {
  readonly value: JobRecord;
  readonly modRevision: number;
}

/**
 * Which jobs this scheduler works on. A job without an owner goes to the first of the living schedulers of its kind, in
 * the job's own rendezvous order; the others step in later, rank by rank, when those before them take nothing. Whoever
 * creates the owner key has it.
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
  readonly #takes: Takes;
  #ownPart: Part = { part: 0, parts: 1 };
  /** The living schedulers of our kind, by name. */
  #peers: readonly string[] = [];
  /** When we last heard that another scheduler took a job (monotonic), by its name. */
  readonly #tookAtMs = new Map<string, number>();
  #started = false;

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
    this.#takes = new Takes(deps, {
      jobs: this.#jobs,
      isOpen: (key) => this.#isOpen(key),
      isAwaited: (key) => ownerRank(key, this.#peersTaking(), this.#deps.self.scheduler) > 0,
      ownRevisionOf: (key) => {
        const row = this.#owners.get(key);
        return row !== undefined && this.#isOurs(row.value) ? row.createRevision : undefined;
      },
      adopt: (key, ownerRevision, isBare) => this.#adopt(key, ownerRevision, isBare),
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
    this.#takes.close();
    for (const table of [this.#jobs, this.#owners, this.#roles]) table.close();
  }

  /** This scheduler's place among all living ones that choose hosts, by name. */
  get ownPart(): Part {
    return this.#ownPart;
  }

  /** Jobs that are being taken at this moment. */
  get asked(): number {
    return this.#takes.asked;
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
    this.#takes.forget(key);
    this.#settled.delete(key);
  }

  #onOwner(key: string, now: TableRow<Owner> | undefined, before: TableRow<Owner> | undefined): void {
    const held = this.#owned.get(key);
    // Late news of a key that we have given up since.
    if (now !== undefined && this.#settled.get(key)?.ownerRevision === now.createRevision) return;
    // Late news of an earlier ownership of ours: the key that we hold was created after it.
    if (now !== undefined && held !== undefined && now.createRevision < held) return;
    if (now !== undefined && this.#isOurs(now.value)) {
      // The reply will tell more.
      if (this.#takes.isAsked(key)) return;
      if (held !== undefined && held !== now.createRevision) this.#lose(key);
      this.#adopt(key, now.createRevision);
      return;
    }
    // The watch may be late: news from before our own creation says nothing about it.
    const isOlder = held !== undefined && (now?.modRevision ?? this.#owners.revision) < held;
    if (isOlder) return;
    if (held !== undefined) this.#lose(key);
    if (now !== undefined) {
      this.#tookAtMs.set(now.value.scheduler, this.#deps.clock.monotonicMs());
      this.#takes.leave(key);
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

  #lookAround(): void {
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
    this.#peers = [...this.#roles.rows()]
      .filter(([, { value }]) => kindOfPolicyText(value.policy) === this.#deps.self.kind)
      .map(([name]) => name);
  }

  #peersTaking(): readonly string[] {
    const sinceMs = this.#deps.clock.monotonicMs() - STEP_IN_MS;
    return this.#peers.filter((name) => (this.#tookAtMs.get(name) ?? -Infinity) > sinceMs);
  }

  #onRole(name: string, isThere: boolean): void {
    this.#lookAround();
    if (!isThere) {
      this.#tookAtMs.delete(name);
      for (const [key, { by }] of this.#settled) {
        if (by !== name) continue;
        this.#settled.delete(key);
        this.#consider(key);
      }
    }
    for (const key of [...this.#takes.waiting()]) this.#consider(key);
  }

  #isOurs(owner: Owner): boolean {
    return owner.scheduler === this.#deps.self.scheduler && owner.sinceMs === this.#deps.self.sinceMs;
  }

  #consider(key: string): void {
    if (!this.#started) return;
    const row = this.#jobs.get(key);
    if (row === undefined || this.#owned.has(key)) return;
    const owner = this.#owners.get(key);
    // Ours since before its record was there, or could be read: nobody else will take it.
    if (owner !== undefined && this.#isOurs(owner.value)) this.#onOwner(key, owner, owner);
    if (!this.#isOpen(key)) return;
    const delayMs = stepInDelayMs(ownerRank(key, this.#peers, this.#deps.self.scheduler));
    // The others look only when their turn comes: until then the job mostly has an owner, and was never read here.
    if (delayMs === 0 && row.kind !== this.#deps.self.kind) return;
    this.#takes.want(key, delayMs);
  }

  /** Has it no owner that we know of, and has none said that nothing is left to do? */
  #isOpen(key: string): boolean {
    const recordRevision = this.#jobs.get(key)?.modRevision;
    if (recordRevision === undefined || this.#owners.get(key) !== undefined) return false;
    return this.#settled.get(key)?.recordRevision !== recordRevision;
  }

  #adopt(key: string, ownerRevision: number, isBare = false): void {
    this.#takes.forget(key);
    if (this.#owned.has(key) || this.#deps.signal.aborted) return;
    const row = this.#jobs.get(key);
    if (row === undefined) {
      void this.#giveBack(key, ownerRevision);
      return;
    }
    const value = row.read();
    if (value === null) return;
    this.#owned.set(key, ownerRevision);
    this.#settled.delete(key);
    const isFirst = isBare && row.isNew && value.version === 1;
    this.#deps.onOwned(key, { value, modRevision: row.modRevision }, ownerRevision, isFirst);
  }

  /** The job went while it was being taken: without its record nobody would ever give the key up. */
  async #giveBack(key: string, ownerRevision: number): Promise<void> {
    const { store, keys, log } = this.#deps;
    try {
      await store.attempt({
        compares: [
          { key: keys.owners + key, target: 'createRevision', equals: ownerRevision },
          { key: keys.jobs + key, target: 'modRevision', equals: 0 },
        ],
        writes: [{ kind: 'delete', key: keys.owners + key }],
        readBack: [],
      });
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      log.warn({ job: key, error }, 'the owner key of a job that is gone stays until the session ends');
    }
  }

  #lose(key: string): void {
    this.#owned.delete(key);
    this.#deps.onLost(key);
  }
}

export function ownerOf(id: string, kind: SchedulerKind, sinceMs: number): Owner {
  return { scheduler: id, kind, sinceMs };
}

/** An owner's word that nothing is left to do. */
interface Settled {
  /** Of the job's record as the owner saw it. */
  readonly recordRevision: number;
  readonly by: string;
  /** Of the owner key that was given up for it, when it was ours; otherwise 0. */
  readonly ownerRevision: number;
}
