import type { Allocation, Outcome } from '../../src/core/cell/allocation.ts';
import type { Explanation } from '../../src/core/placement/explain.ts';
import type { KnownHost } from '../../src/core/cell-state/host-slot.ts';
import { jobKeyOf } from '../../src/core/cell/ids.ts';
import type { Job, JobRecord } from '../../src/core/cell/job.ts';
import type { RolloutRecord } from '../../src/core/cell/rollout.ts';
import type { LostHost } from '../../src/core/host/host.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import type { LiveAllocation } from '../../src/core/slots/job-view.ts';

/**
 * The steps of an allocation:
 *
 *   ticket → commit → start → started        `commit/commit.ts`, then `hosts/starter.ts`; a refusal undoes it
 *                  ├→ (its start had to wait, or its ticket was too old) ticket → start
 *                  └→ (from another owner) verify → ticket | started
 *   any committed one → stopping (its record says `desired: stop`) → releasing → gone
 */
export type Stage = 'ticket' | 'commit' | 'verify' | 'start' | 'started';

const NO_LOST_HOSTS: readonly LostHost[] = Object.freeze([]);

/** One allocation of an owned job, from the decision until its release is durable. */
export class Entry {
  allocation: Allocation;
  /** The mod revision of its record; 0 while it is not committed. */
  revision: number;
  stage: Stage;
  /** Its host in the private cell, once looked up. */
  host: KnownHost | null = null;
  /** Its slot is vacant while these are lost; of one that is not committed yet. */
  standsFor: readonly LostHost[] = NO_LOST_HOSTS;
  report: AllocationReport | null = null;
  /** Since when it has run without a restart, as this scheduler saw it (monotonic); null: it does not run now. */
  upSinceMs: number | null = null;
  ticket: { readonly text: string; readonly expiresMs: number } | null = null;
  marking = false;
  /** When it was written here that it is to end, on the wall clock; null: not here. */
  stoppedAtMs: number | null = null;
  ordering = false;
  /** When the host last confirmed the order to stop (monotonic); null: not yet. */
  orderedMs: number | null = null;
  releasing = false;
  /** Its release failed, or was put off: its host is asked for it again when the job has been read. */
  needsVerify = false;

  get isUnverified(): boolean {
    return this.stage === 'verify' && this.report === null;
  }

  constructor(allocation: Allocation, revision: number, stage: Stage) {
    this.allocation = allocation;
    this.revision = revision;
    this.stage = stage;
  }

  /** What is known of it, without what is under way for it. */
  copy(): Entry {
    const copy = new Entry(this.allocation, this.revision, this.stage);
    copy.report = this.report;
    copy.upSinceMs = this.upSinceMs;
    copy.stoppedAtMs = this.stoppedAtMs;
    return copy;
  }
}

/** The search for hosts for one group. */
export class GroupState {
  tries = 0;
  /** Refused commits in all, and since the last success. */
  conflicts = 0;
  conflictsInARow = 0;
  /** No try before this time (monotonic). */
  blockedUntilMs = 0;
  blockedWhy = '';
  /** Delays in a row, for the backoff. */
  blocks = 0;
  /** Fits nowhere: waits in `decide/parking.ts` until capacity is freed that could fit it. */
  parked = false;
  /** Since when (monotonic); null: not parked since its last success. */
  parkedSinceMs: number | null = null;
  /** A preemption for it is under way: its progress, for people; null: none is. */
  preempting: string | null = null;
  /** A decision during the preemption left the group out. */
  skipped = false;
  explanation: Explanation | null = null;
  /** When `explanation` was made (monotonic). */
  explainedAtMs = 0;
  /** Slots that the last decision left without a host. */
  pending = 0;
  /** Since when some have had none (monotonic); null: none waits. */
  pendingSinceMs: number | null = null;

  /** The last decision left so many slots without a host. */
  leave(pending: number, nowMs: number): void {
    this.pending = pending;
    if (pending === 0) this.pendingSinceMs = null;
    else this.pendingSinceMs ??= nowMs;
  }
}

/** Newest versions that are kept at least, whatever runs: an allocation that was decided for one of them may still be on its way here. */
const VERSIONS_KEPT = 32;

const NOTHING_UNRECORDED: readonly LiveAllocation[] = Object.freeze([]);

/** Everything that a scheduler knows of a job that it owns. Dropped whole when another scheduler owns the job. */
export class OwnedJob {
  readonly namespace: string;
  readonly name: string;
  /** `namespace/name` */
  readonly key: string;
  record: JobRecord;
  recordRevision: number;
  #ownerRevision: number;
  readonly entries = new Map<string, Entry>();
  readonly groups = new Map<string, GroupState>();
  // These four are null in most jobs, and a scheduler has tens of thousands of jobs.
  /** Outcomes by slot, oldest first. */
  #history: Map<string, Outcome[]> | null = null;
  #versions: Map<number, Job> | null = null;
  /** Hosts that refused a start of this job, and until when they are avoided (monotonic). */
  #avoid: Map<string, number> | null = null;
  /** By gang: members' commits under way. */
  #commits: Map<string, Promise<unknown>> | null = null;
  /** Above so many known versions, old ones that nothing names are forgotten; twice what was left the last time. */
  #versionsMax = 2 * VERSIONS_KEPT;
  /** Not owned, or no longer: what continues after a call must not act for it. */
  dropped = false;
  /** Why the last decision on it threw, for people; null: it did not. */
  undecidable: string | null = null;
  /** Something could not be done while a commit was under way: decide again after it. */
  revisit = false;
  /** Counts applied own writes about the job: a read that one of them overlaps may be older than what is known here. */
  ownWrites = 0;
  /** The revision of this scheduler's last write of an intent: older reads do not count. */
  readFrom: number;
  /** How far its update is, as it was recorded last; null: nothing is. */
  rollout: RolloutRecord | null = null;
  /** That is being written. */
  recording = false;
  /** Members of a gang were seen, though its present spec may have no gang. */
  hadGangs = false;
  /** The store may hold more than is known here: it is read again before the next decision. */
  stale = false;
  /** Not all of it could be loaded yet: it is read again and again, and does not count as finished. */
  partlyLoaded = false;
  /** Allocations that hosts run without a record, while other claims hold their capacity. They fill their slots; `repair/unrecorded.ts` stops them. */
  unrecorded: readonly LiveAllocation[] = NOTHING_UNRECORDED;
  finishing = false;
  /** Outcomes of unplaceable slots are being written. */
  failing = false;
  /** Counts the times that slots ended as unplaceable: a search for them that began before is void. */
  slotsFailed = 0;
  /** When its timer puts it into the decision queue (monotonic), and how to cancel that. */
  dueAtMs = Number.POSITIVE_INFINITY;
  cancelTimer: () => void = () => undefined;

  constructor(record: JobRecord, recordRevision: number, ownerRevision: number) {
    this.record = record;
    this.namespace = record.job.namespace;
    this.name = record.job.name;
    this.key = jobKeyOf(this.namespace, this.name);
    this.recordRevision = recordRevision;
    this.#ownerRevision = ownerRevision;
    this.readFrom = ownerRevision;
  }

  /** One that is to be claimed by the commit of its first placement. */
  static unclaimed(record: JobRecord, recordRevision: number): OwnedJob {
    const job = new OwnedJob(record, recordRevision, 0);
    job.dropped = true;
    return job;
  }

  /** @param ownerRevision of the commit that claimed it */
  claimed(ownerRevision: number): void {
    this.#ownerRevision = ownerRevision;
    this.readFrom = ownerRevision;
    this.dropped = false;
  }

  /** The creation revision of the owner key: what every commit for this job compares. */
  get ownerRevision(): number {
    return this.#ownerRevision;
  }

  /** Is any group a gang? Then the store may hold an intent of it. */
  get hasGangs(): boolean {
    return this.hadGangs || Object.values(this.record.job.groups).some((group) => group.gang);
  }

  /**
   * The commit of some members of the gang, which were checked against the other members before: until it has ended, no
   * member is stopped or released. @returns null: none is under way
   */
  commitOf(gang: string): Promise<unknown> | null {
    return this.#commits?.get(gang) ?? null;
  }

  /** A commit of members has begun, perhaps beside an earlier one. */
  setCommit(gang: string, commit: Promise<unknown>): void {
    const commits = (this.#commits ??= new Map<string, Promise<unknown>>());
    const before = commits.get(gang);
    const all = before === undefined ? commit : Promise.allSettled([before, commit]);
    commits.set(gang, all);
    const end = (): void => {
      if (commits.get(gang) === all) commits.delete(gang);
    };
    all.then(end, end);
  }

  /**
   * All that is known of it, for a decision that changes nothing: its search begins anew, and nothing of it is under way.
   * @param record another one than its own, as if that had just been written
   */
  copy(record: JobRecord = this.record): OwnedJob {
    const copy = new OwnedJob(record, this.recordRevision, this.ownerRevision);
    for (const [id, entry] of this.entries) copy.entries.set(id, entry.copy());
    copy.setOutcomes(this.outcomes());
    copy.unrecorded = this.unrecorded;
    for (const [version, spec] of this.versions) copy.keepVersion(version, spec);
    copy.keepVersion(this.record.version, this.record.job);
    copy.#avoid = this.#avoid === null ? null : new Map(this.#avoid);
    copy.rollout = this.rollout;
    return copy;
  }

  group(name: string): GroupState {
    let state = this.groups.get(name);
    if (state === undefined) this.groups.set(name, (state = new GroupState()));
    return state;
  }

  /** Its earlier specs, as far as they are kept, by version. */
  get versions(): ReadonlyMap<number, Job> {
    return this.#versions ?? NO_VERSIONS;
  }

  keepVersion(version: number, spec: Job): void {
    const versions = (this.#versions ??= new Map<number, Job>());
    versions.set(version, spec);
    if (versions.size > this.#versionsMax) this.#dropOldVersions(versions);
  }

  /** A job may have a hundred thousand versions, of which few are named by an allocation or an outcome. */
  #dropOldVersions(versions: Map<number, Job>): void {
    const named = new Set<number>();
    for (const { allocation } of this.entries.values()) named.add(allocation.jobVersion);
    for (const { allocation } of this.unrecorded) named.add(allocation.jobVersion);
    for (const { jobVersion } of this.outcomes()) named.add(jobVersion);
    const newestFirst = [...versions.keys()].sort((a, b) => b - a);
    for (const version of newestFirst.slice(VERSIONS_KEPT)) if (!named.has(version)) versions.delete(version);
    this.#versionsMax = Math.max(2 * VERSIONS_KEPT, 2 * versions.size);
  }

  outcomes(): readonly Outcome[] {
    return this.#history === null ? NO_OUTCOMES : [...this.#history.values()].flat();
  }

  setOutcomes(outcomes: Iterable<Outcome>): void {
    this.#history = null;
    for (const outcome of outcomes) this.addOutcome(outcome);
  }

  addOutcome(outcome: Outcome): void {
    const slot = slotKey(outcome);
    const all = (this.#history ??= new Map<string, Outcome[]>());
    const history = all.get(slot);
    if (history === undefined) all.set(slot, [outcome]);
    else if (history.every((known) => known.allocation !== outcome.allocation)) history.push(outcome);
    history?.sort((a, b) => a.attempt - b.attempt || a.endedAtMs - b.endedAtMs);
  }

  dropOutcome(outcome: Outcome): void {
    const slot = slotKey(outcome);
    const rest = (this.#history?.get(slot) ?? []).filter((known) => known.allocation !== outcome.allocation);
    if (rest.length === 0) this.#history?.delete(slot);
    else this.#history?.set(slot, rest);
  }

  /** The outcomes of the entry's slot, oldest first. */
  slotHistory(entry: Entry): readonly Outcome[] {
    return this.#history?.get(slotKey(entry.allocation)) ?? NO_OUTCOMES;
  }

  avoidHost(host: string, untilMs: number): void {
    (this.#avoid ??= new Map()).set(host, untilMs);
  }

  avoids(host: string): boolean {
    return this.#avoid?.has(host) ?? false;
  }

  /** Hosts that refused a start and are still avoided at `nowMs` (monotonic). */
  refusing(nowMs: number): readonly string[] {
    if (this.#avoid === null) return NO_HOSTS;
    for (const [host, untilMs] of this.#avoid) if (untilMs <= nowMs) this.#avoid.delete(host);
    return [...this.#avoid.keys()];
  }
}

const NO_VERSIONS: ReadonlyMap<number, Job> = new Map();
const NO_OUTCOMES: readonly Outcome[] = Object.freeze([]);
const NO_HOSTS: readonly string[] = Object.freeze([]);

function slotKey({ group, index }: { readonly group: string; readonly index: number }): string {
  return `${group}/${String(index)}`;
}
