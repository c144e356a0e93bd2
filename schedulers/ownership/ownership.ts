/**
 * Who works on which job. A job without an owner is claimed by a scheduler of its kind, which creates its owner key under
 * its session; every commit for the job compares that key. See `docs/decisions/job-ownership.md`.
 *
 * 1. `job-index.ts` keeps all jobs of the cell as text.
 * 2. `Ownership` (this file) decides which jobs to claim, and when. The living schedulers of a kind have an order for each job,
 *    by rendezvous hashing: the first one claims it, the others step in later, rank by rank, when those before them claim
 *    nothing.
 * 3. `job-claims.ts` creates the owner keys, many in a transaction.
 * 4. `first-placement.ts` places a single new job in the transaction that claims it.
 * 5. `owned-jobs.ts` brings a claimed job into the term, and takes it out when it is finished or lost.
 * 6. `job-intake.ts` takes up what the store holds of the job, read by `job-loader.ts`, before anything is decided for it.
 *
 * An owner deletes its key when nothing is left to do for a job. Schedulers that see it do so while it lives leave the job
 * alone until its record changes or that scheduler is gone; then another one claims it and checks. When a record asks for another
 * kind of scheduler, the owner hands the job over by deleting its key: those of that kind know that it was not finished.
 */
import { ownerRank, STEP_IN_MS, stepInDelayMs } from '../../src/core/cell/ownership.ts';
import type { Owner, RoleRecord } from '../../src/core/cell/cell.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import type { TableRow } from '../../src/runtime/records/records.ts';
import { Table } from '../../src/runtime/records/records.ts';
import { ownerCodec, roleCodec } from '../../src/wire/records/records.ts';
import type { JobAtRevision, JobRow } from './job-index.ts';
import { JobIndex } from './job-index.ts';
import { kindOfPolicyText } from '../policies/options.ts';
import type { Partition } from '../state/state.ts';
import type { OwnedJob } from '../state/owned-job.ts';
import type { FirstPlacement } from './first-placement.ts';
import type { JobClaimsDeps } from './job-claims.ts';
import { JobClaims } from './job-claims.ts';

export interface OwnershipDeps extends JobClaimsDeps {
  /**
   * The job is owned from now on.
   * @param ownerRevision what every commit for it compares
   * @param isBare when it was claimed, the store held nothing of it but its first record
   * @param placed the job with what the same transaction placed; absent: nothing
   */
  onOwned(row: JobAtRevision, ownerRevision: number, isBare: boolean, placed?: OwnedJob): void;
  /** What may be placed of a new job by the transaction that claims it; null: nothing. */
  firstPlacement(record: JobAtRevision): FirstPlacement | null;
  /** The job is no longer owned: nothing may be done for it any more. */
  onLost(key: string): void;
  /** The record of an owned job changed; undefined: it was deleted. */
  onRecord(key: string, row: JobAtRevision | undefined): void;
}

/** Before a job is handed over that changed meanwhile, or while the store did not answer. */
const HAND_OVER_RETRY_MS = 1_000;

/** The jobs of this scheduler; see the head of this file. */
export class Ownership {
  readonly ready: Promise<unknown>;
  readonly #deps: OwnershipDeps;
  readonly #jobs: JobIndex;
  readonly #owners: Table<Owner>;
  readonly #roles: Table<RoleRecord>;
  /** Creation revisions of this scheduler's owner keys. */
  readonly #owned = new Map<string, number>();
  /** Jobs that their owner has finished. */
  readonly #finished = new Map<string, Finished>();
  readonly #claims: JobClaims;
  #partition: Partition = { index: 0, count: 1 };
  /** The living schedulers of the same kind, by name. */
  #peers: readonly string[] = [];
  /** When another scheduler last claimed a job (monotonic), by its name. */
  readonly #claimedAtMs = new Map<string, number>();
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
    this.#claims = new JobClaims(deps, {
      jobs: this.#jobs,
      isOpen: (key) => this.#isOpen(key),
      isAwaited: (key) => ownerRank(key, this.#peersClaiming(), this.#deps.self.scheduler) > 0,
      ownRevisionOf: (key) => {
        const row = this.#owners.get(key);
        return row !== undefined && this.#isOwn(row.value) ? row.createRevision : undefined;
      },
      firstPlacement: (key) => {
        const record = this.#jobs.get(key)?.readAt();
        return record == null ? null : this.#deps.firstPlacement(record);
      },
      adopt: (key, ownerRevision, isBare, placed) => this.#adopt(key, ownerRevision, isBare, placed),
    });
    this.ready = Promise.all([this.#roles.ready, this.#owners.ready, this.#jobs.ready]);
    // A term that ends before it was ready awaits none of them.
    this.ready.catch(() => undefined);
  }

  /** Begins to claim jobs, once all tables are ready: with half a view it would claim jobs of other schedulers. */
  start(): void {
    this.#started = true;
    for (const key of this.#jobs.keys()) this.#consider(key);
  }

  close(): void {
    this.#claims.close();
    for (const table of [this.#jobs, this.#owners, this.#roles]) table.close();
  }

  /** This scheduler's place among all living schedulers that choose hosts, by name. */
  get partition(): Partition {
    return this.#partition;
  }

  get claimsPending(): number {
    return this.#claims.pending;
  }

  revisionOf(key: string): number | undefined {
    return this.#owned.get(key);
  }

  /**
   * Nothing is left to do for the job as its record stood at `recordRevision`: deletes the owner key.
   * @returns false: the record has changed meanwhile: the job is to be decided again
   */
  async finish(key: string, recordRevision: number): Promise<boolean> {
    const ownerRevision = this.#owned.get(key);
    if (ownerRevision === undefined) return true;
    // Before the attempt: the watch may show the deletion before the reply comes.
    const finished = { recordRevision, by: this.#deps.self.scheduler, ownerRevision };
    this.#finished.set(key, finished);
    // A job that was deleted has no record to compare with; its revision is 0 in the store and here.
    const jobRevision = this.#jobs.get(key) === undefined ? 0 : recordRevision;
    if (!(await this.#deleteOwnerKey(key, ownerRevision, jobRevision))) {
      if (this.#finished.get(key) === finished) this.#finished.delete(key);
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

  /** A record that cannot be read changes nothing. */
  #changed(key: string, now: JobRow | undefined): void {
    const record = now?.readAt();
    if (record === null) return;
    this.#deps.onRecord(key, record);
    if (record !== undefined) void this.#handOver(key);
  }

  /** A record that asks for another kind of scheduler: deletes the owner key, so that one of those claims the job as it stands. */
  async #handOver(key: string): Promise<void> {
    const { self, clock, log, signal } = this.#deps;
    const [row, ownerRevision] = [this.#jobs.get(key), this.#owned.get(key)];
    if (row === undefined || ownerRevision === undefined || signal.aborted) return;
    if (row.kind === self.kind || row.kind === null) return;
    try {
      if (await this.#deleteOwnerKey(key, ownerRevision, row.modRevision)) {
        if (this.#owned.get(key) === ownerRevision) this.#lose(key);
        return;
      }
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      log.warn({ job: key, error }, 'cannot hand a job over to another kind of scheduler');
    }
    clock.after(HAND_OVER_RETRY_MS, () => void this.#handOver(key));
  }

  #forget(key: string): void {
    this.#claims.forget(key);
    this.#finished.delete(key);
  }

  #onOwner(key: string, now: TableRow<Owner> | undefined, before: TableRow<Owner> | undefined): void {
    const held = this.#owned.get(key);
    // A late change of a key that this scheduler has deleted since.
    if (now !== undefined && this.#finished.get(key)?.ownerRevision === now.createRevision) return;
    // A late change from an earlier ownership of this scheduler: the key that it holds was created after it.
    if (now !== undefined && held !== undefined && now.createRevision < held) return;
    if (now !== undefined && this.#isOwn(now.value)) {
      // The reply of the claim tells more.
      if (this.#claims.isPending(key)) return;
      if (held !== undefined && held !== now.createRevision) this.#lose(key);
      this.#adopt(key, now.createRevision);
      return;
    }
    // The watch may be late: changes from before the own key was created say nothing about it.
    const isOlder = held !== undefined && (now?.modRevision ?? this.#owners.revision) < held;
    if (isOlder) return;
    if (held !== undefined) this.#lose(key);
    if (now !== undefined) {
      this.#claimedAtMs.set(now.value.scheduler, this.#deps.clock.monotonicMs());
      this.#claims.withdraw(key);
      return;
    }
    const by = before?.value.scheduler;
    const row = this.#jobs.get(key);
    if (row !== undefined && by !== undefined && this.#hasFinished(by, row))
      this.#finished.set(key, { recordRevision: row.modRevision, by, ownerRevision: 0 });
    this.#consider(key);
  }

  /** Did the scheduler that deleted its owner key finish the job? Gone or of another kind than the job is, it gave it up. */
  #hasFinished(by: string, row: JobRow): boolean {
    const role = this.#roles.get(by);
    if (role === undefined || by === this.#deps.self.scheduler) return false;
    return kindOfPolicyText(role.value.policy) === row.kind;
  }

  #updatePeers(): void {
    const self = this.#deps.self.scheduler;
    let part = 0;
    let parts = 1;
    for (const [name, { value }] of this.#roles.rows()) {
      // A system job says itself where it runs.
      if (name === self || kindOfPolicyText(value.policy) === 'system') continue;
      parts += 1;
      if (name < self) part += 1;
    }
    this.#partition = { index: part, count: parts };
    this.#peers = [...this.#roles.rows()]
      .filter(([, { value }]) => kindOfPolicyText(value.policy) === this.#deps.self.kind)
      .map(([name]) => name);
  }

  #peersClaiming(): readonly string[] {
    const sinceMs = this.#deps.clock.monotonicMs() - STEP_IN_MS;
    return this.#peers.filter((name) => (this.#claimedAtMs.get(name) ?? -Infinity) > sinceMs);
  }

  #onRole(name: string, isThere: boolean): void {
    this.#updatePeers();
    if (!isThere) {
      this.#claimedAtMs.delete(name);
      for (const [key, { by }] of this.#finished) {
        if (by !== name) continue;
        this.#finished.delete(key);
        this.#consider(key);
      }
    }
    for (const key of [...this.#claims.waiting()]) this.#consider(key);
  }

  #isOwn(owner: Owner): boolean {
    return owner.scheduler === this.#deps.self.scheduler && owner.sinceMs === this.#deps.self.sinceMs;
  }

  #consider(key: string): void {
    if (!this.#started) return;
    const row = this.#jobs.get(key);
    if (row === undefined || this.#owned.has(key)) return;
    const owner = this.#owners.get(key);
    // Owned since before its record was there, or could be read: no other scheduler can claim it.
    if (owner !== undefined && this.#isOwn(owner.value)) this.#onOwner(key, owner, owner);
    if (!this.#isOpen(key)) return;
    const delayMs = stepInDelayMs(ownerRank(key, this.#peers, this.#deps.self.scheduler));
    // The kind is read late for other schedulers' jobs: by then the job mostly has an owner, and was never read here.
    if (delayMs === 0 && row.kind !== this.#deps.self.kind) return;
    this.#claims.want(key, delayMs);
  }

  /** Has it no known owner, and has none finished it? */
  #isOpen(key: string): boolean {
    const recordRevision = this.#jobs.get(key)?.modRevision;
    if (recordRevision === undefined || this.#owners.get(key) !== undefined) return false;
    return this.#finished.get(key)?.recordRevision !== recordRevision;
  }

  #adopt(key: string, ownerRevision: number, isBare = false, placed?: FirstPlacement): void {
    this.#claims.forget(key);
    if (this.#owned.has(key) || this.#deps.signal.aborted) return;
    const row = this.#jobs.get(key);
    // What was placed must end, though the record is gone.
    const record = row === undefined ? placed?.record : row.readAt();
    if (record === undefined) void this.#giveBack(key, ownerRevision);
    if (record == null) return;
    this.#owned.set(key, ownerRevision);
    this.#finished.delete(key);
    const isFirst = isBare && row?.isNew !== false && record.value.version === 1;
    if (isFirst) this.#deps.onOwned(record, ownerRevision, true, placed?.job);
    else this.#deps.onOwned(record, ownerRevision, false);
    // It may have changed while it was claimed.
    if (row === undefined) this.#deps.onRecord(key, undefined);
    else if (row.kind !== this.#deps.self.kind) void this.#handOver(key);
  }

  /** The job was deleted while it was claimed: without its record no scheduler would ever delete the key. */
  async #giveBack(key: string, ownerRevision: number): Promise<void> {
    try {
      await this.#deleteOwnerKey(key, ownerRevision, 0);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      const { log } = this.#deps;
      log.warn({ job: key, error }, 'the owner key of a job that is gone stays until the session ends');
    }
  }

  /** @param jobRevision of the job's record; 0: it has none. @returns false: the record is another one, or no answer came */
  async #deleteOwnerKey(key: string, ownerRevision: number, jobRevision: number): Promise<boolean> {
    const { store, keys } = this.#deps;
    const reply = await store.attempt({
      compares: [
        { key: keys.owners + key, target: 'createRevision', equals: ownerRevision },
        { key: keys.jobs + key, target: 'modRevision', equals: jobRevision },
      ],
      writes: [{ kind: 'delete', key: keys.owners + key }],
      readBack: [],
    });
    return reply.outcome === 'applied';
  }

  #lose(key: string): void {
    this.#owned.delete(key);
    this.#deps.onLost(key);
  }
}

/** An owner deleted its key because nothing was left to do. */
interface Finished {
  /** Of the job's record as the owner saw it. */
  readonly recordRevision: number;
  readonly by: string;
  /** Of the deleted owner key, when it was this scheduler's; otherwise 0. */
  readonly ownerRevision: number;
}
