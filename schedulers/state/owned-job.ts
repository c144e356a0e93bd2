import type { Allocation, Outcome } from '../../src/core/cell/allocation.ts';
import type { Explanation } from '../../src/core/placement/explain.ts';
import type { KnownHost } from '../../src/core/cell-state/host-slot.ts';
import { jobKeyOf } from '../../src/core/cell/ids.ts';
import type { Job, JobRecord } from '../../src/core/cell/job.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import type { LiveAllocation } from '../../src/core/slots/job-view.ts';

/**
 * Where an allocation stands on its way:
 *
 *   ticket → commit → start → started        each step by the launcher; a refusal takes it out again
 *                  └→ (taken over) verify → start | started
 *   any committed one → stopping (its record says `desired: stop`) → releasing → gone
 */
export type Stage = 'ticket' | 'commit' | 'verify' | 'start' | 'started';

/** One allocation of an owned job, from the decision until its release is durable. */
export interface Entry {
  allocation: Allocation;
  /** Its host in the term's cell state, once that was asked for. */
  host: KnownHost | null;
  /** The mod revision of its record; 0 while it is not committed. */
  revision: number;
  report: AllocationReport | null;
  stage: Stage;
  ticket: { readonly text: string; readonly expiresMs: number } | null;
  /** Its record is being rewritten. */
  marking: boolean;
  /** The order to stop it is on its way to the host. */
  ordering: boolean;
  /** When the host last said that it heard the order (monotonic); null: not yet. */
  orderedMs: number | null;
  /** Its release is being committed. */
  releasing: boolean;
  /** Its claim was to be given back and was not: nobody brings it to its host, or asks there, until that is taken up. */
  undriven: boolean;
}

/** How the search for places for one group goes. */
export interface GroupState {
  tries: number;
  /** Conflicts in all, and since the last success. */
  conflicts: number;
  conflictsInARow: number;
  /** No try before this time (monotonic). */
  blockedUntilMs: number;
  blockedWhy: string;
  /** Tries that were put off in a row, for the backoff. */
  blocks: number;
  /** Nothing fits: waits until something changes that could make it fit. */
  parked: boolean;
  /** Since when (monotonic); null: it was not since its last success. */
  parkedSinceMs: number | null;
  /** Lower precedence is being made to give way to it: how far that is, for people; null: it is not. */
  evicting: string | null;
  /** Its turn came meanwhile, and was left to that. */
  passedOver: boolean;
  explanation: Explanation | null;
  /** When `explanation` was made (monotonic). */
  explainedAtMs: number;
  /** Fills that the last look wanted and that were not placed. */
  pending: number;
}

const NOTHING_UNRECORDED: readonly LiveAllocation[] = Object.freeze([]);

/** Everything that a scheduler knows of a job that it owns. Dropped whole when the job goes to another. */
export class OwnedJob {
  readonly namespace: string;
  readonly name: string;
  /** `namespace/name` */
  readonly key: string;
  record: JobRecord;
  recordRevision: number;
  /** The creation revision of the owner key: what every commit for this job compares. */
  readonly ownerRevision: number;
  readonly entries = new Map<string, Entry>();
  readonly groups = new Map<string, GroupState>();
  // Most jobs come to none of these four, and a scheduler has tens of thousands of jobs.
  /** Outcomes by slot, oldest first. */
  #history: Map<string, Outcome[]> | null = null;
  #versions: Map<number, Job> | null = null;
  /** Hosts that refused a start of this job, and until when to keep away from them (monotonic). */
  #avoid: Map<string, number> | null = null;
  /** By gang: members' commits that are on their way to the store. */
  #commits: Map<string, Promise<unknown>> | null = null;
  /** No longer ours: whoever comes back from a call with it must do nothing. */
  dropped = false;
  /** Something could not be done while a commit was under way: look again after it. */
  again = false;
  /** Counts own writes about the job that landed: what was read of it while one did may be older than what we know. */
  landings = 0;
  /** A revision that the store had reached when we last wrote of an intent: reads from before it do not count. */
  readFrom: number;
  /** Members of a gang were seen, though its present spec may have none. */
  hadGangs = false;
  /** The store may hold what we do not know of; read it again before the next decision. */
  stale = false;
  /** There is more of it than could be taken up: it is read again and again, and is not at its end, whatever is left here. */
  inPart = false;
  /** What hosts run of it without a record, while others have its room. It fills its slots, and nobody stops or releases it here. */
  unrecorded: readonly LiveAllocation[] = NOTHING_UNRECORDED;
  /** Its owner key is being deleted. */
  finishing = false;
  /** Outcomes for slots without a place are being written. */
  failing = false;
  /** How often slots were given up for want of a place: what is still searched for them comes too late. */
  givenUp = 0;
  /** The next look that time alone asks for (monotonic), and how to call it off. */
  lookAtMs = Number.POSITIVE_INFINITY;
  cancelTimer: () => void = () => undefined;

  constructor(record: JobRecord, recordRevision: number, ownerRevision: number) {
    this.record = record;
    this.namespace = record.job.namespace;
    this.name = record.job.name;
    this.key = jobKeyOf(this.namespace, this.name);
    this.recordRevision = recordRevision;
    this.ownerRevision = ownerRevision;
    this.readFrom = ownerRevision;
  }

  /** Does any group come whole or not at all? Then the store may hold an intent of it. */
  get hasGangs(): boolean {
    return this.hadGangs || Object.values(this.record.job.groups).some((group) => group.gang);
  }

  /**
   * Some members of the gang are on their way to the store, and were looked at beside the others for the last time: until they
   * are there, or are not, nobody of it is told to leave or released. @returns when that is over; null: none are
   */
  commitOf(gang: string): Promise<unknown> | null {
    return this.#commits?.get(gang) ?? null;
  }

  /** Members of the gang go to the store, perhaps beside others of it. */
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

  group(name: string): GroupState {
    let state = this.groups.get(name);
    if (state === undefined) this.groups.set(name, (state = newGroupState()));
    return state;
  }

  /** Its earlier specs, as far as they are kept. */
  get versions(): ReadonlyMap<number, Job> {
    return this.#versions ?? NO_VERSIONS;
  }

  keepVersion(version: number, spec: Job): void {
    (this.#versions ??= new Map()).set(version, spec);
  }

  outcomes(): readonly Outcome[] {
    return this.#history === null ? NO_OUTCOMES : [...this.#history.values()].flat();
  }

  /** Replaces all that was known of ends. */
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

  /** The ends of the slot that the entry fills, oldest first. */
  slotHistory(entry: Entry): readonly Outcome[] {
    return this.#history?.get(slotKey(entry.allocation)) ?? NO_OUTCOMES;
  }

  /** The host refused a start: keep away from it until then (monotonic). */
  avoidHost(host: string, untilMs: number): void {
    (this.#avoid ??= new Map()).set(host, untilMs);
  }

  /** It refused a start, and nobody has found since that it need not be kept away from any more. */
  avoids(host: string): boolean {
    return this.#avoid?.has(host) ?? false;
  }

  /** Hosts that refused a start, as far as they are still to be kept away from at `nowMs` (monotonic). */
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

function newGroupState(): GroupState {
  return {
    tries: 0,
    conflicts: 0,
    conflictsInARow: 0,
    blockedUntilMs: 0,
    blockedWhy: '',
    blocks: 0,
    parked: false,
    parkedSinceMs: null,
    evicting: null,
    passedOver: false,
    explanation: null,
    explainedAtMs: 0,
    pending: 0,
  };
}

export function newEntry(allocation: Allocation, revision: number, stage: Stage): Entry {
  return {
    allocation,
    host: null,
    revision,
    report: null,
    stage,
    ticket: null,
    marking: false,
    ordering: false,
    orderedMs: null,
    releasing: false,
    undriven: false,
  };
}
