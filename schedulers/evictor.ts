import type { Allocation } from '../src/core/allocation.ts';
import type { Claim } from '../src/core/claim.ts';
import { askOf } from '../src/core/ask.ts';
import { evictionHosts } from '../src/core/eviction-hosts.ts';
import { makeId } from '../src/core/ids.ts';
import type { Group } from '../src/core/job.ts';
import type { Atomicity, Eviction } from '../src/core/plan.ts';
import type { AllocationReport } from '../src/core/report.ts';
import type { Fill } from '../src/core/slot-view.ts';
import { CAUSES } from '../src/core/slot-view.ts';
import { OBSERVED_RANK } from '../src/core/states.ts';
import { chooseVictims } from '../src/core/victims.ts';
import { StoreError } from '../src/ports/cell-store.ts';
import { HttpError } from '../src/ports/http.ts';
import { ProblemError } from '../src/wire/problem.ts';
import { allocationCodec } from '../src/wire/records.ts';
import type { Term } from './context.ts';
import { gangMaxOf } from './launcher.ts';
import type { Entry, GroupState, OwnedJob } from './owned-job.ts';
import type { Parking } from './parking.ts';
import type { Placer } from './placer.ts';

/** Slots for which room is made in one round; the rest follows when these have landed. */
const ROUND_MAX = 16;
/** Hosts asked for one slot, before it waits for room to come by itself. */
const HOSTS_MAX = 4;
/** Choices on one host, when what was chosen turns out to be leaving already. */
const CHOICES_MAX = 3;

export interface EvictorParts {
  readonly placer: Placer;
  readonly parking: Parking;
  /** An operator has paused eviction. */
  readonly isPaused: () => boolean;
  /** What the job wants now. */
  readonly fillsOf: (job: OwnedJob) => readonly Fill[];
  /** Hands over to the launcher, and says when it is done. */
  readonly launch: (job: OwnedJob, plan: EvictingPlan) => Promise<unknown>;
}

export interface EvictingPlan {
  readonly id: string;
  readonly entries: readonly Entry[];
  readonly evictions: readonly Eviction[];
  readonly atomicity: Atomicity;
}

interface MadeRoom {
  readonly entry: Entry;
  readonly evictions: readonly Eviction[];
}

/**
 * Makes room for slots that fit nowhere and are worth more than something that runs. Hosts are found in memory; then the
 * chosen host says what runs on it, and the store says whether that is still wanted and at which revision. Victims and
 * newcomer change in one commit; the host stops the first before it starts the second.
 */
export class Evictor {
  readonly #term: Term;
  readonly #parts: EvictorParts;
  /** Hosts on which an own eviction is under way: their next one would be chosen from what is no longer so. */
  readonly #under = new Set<string>();

  constructor(term: Term, parts: EvictorParts) {
    this.#term = term;
    this.#parts = parts;
  }

  /** Begins to make room for the slots, if that may be done and could help. @param fills of one group, unplaced */
  consider(job: OwnedJob, group: Group, fills: readonly Fill[], isGang: boolean): void {
    const state = job.group(group.name);
    const [first] = fills;
    if (first === undefined || state.evicting !== null || this.#parts.isPaused()) return;
    // Who gives way must do so in the commit that takes the place: a gang by intent may come to nothing after that.
    const { options, world } = this.#term;
    if (isGang && fills.length > gangMaxOf(options, world.store.limits, askOf(group).shared)) return;
    const [host] = this.#hosts(job, group, first, 1);
    if (host === undefined) return;
    state.evicting = `precedence ${String(job.record.job.precedence)} makes room, first on ${host}`;
    this.#term.say('evicting', job, `${group.name}: ${state.evicting}`);
    void this.#run(job, group, state, isGang ? fills : fills.slice(0, ROUND_MAX), isGang);
  }

  async #run(
    job: OwnedJob,
    group: Group,
    state: GroupState,
    fills: readonly Fill[],
    isGang: boolean,
  ): Promise<void> {
    const made: MadeRoom[] = [];
    let launches: Promise<unknown>[] = [];
    try {
      for (const fill of fills) {
        const room = await this.#makeRoom(job, group, state, fill, isGang);
        if (room === null) break;
        made.push(room);
        if (!isGang) launches.push(this.#launch(job, state, [room], this.#term.options.atomicity));
      }
      if (isGang && made.length === fills.length && this.#isWhole(job, group))
        launches = [this.#launch(job, state, made.splice(0), 'all-or-nothing')];
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#term.world.log.warn({ job: job.key, error }, 'cannot read what would give way');
    } finally {
      if (isGang) for (const { entry } of made) this.#takeBack(job, entry);
      await Promise.all(launches);
      state.evicting = null;
    }
    const { passedOver } = state;
    state.passedOver = false;
    if (launches.length > 0 || passedOver) this.#term.look(job);
  }

  #launch(
    job: OwnedJob,
    state: GroupState,
    made: readonly MadeRoom[],
    atomicity: Atomicity,
  ): Promise<unknown> {
    // Something moves: what is left of the group may be looked at again.
    state.parked = false;
    state.parkedSinceMs = null;
    this.#parts.parking.unparked(job);
    const [first] = made;
    if (first === undefined) throw new Error('nothing to launch');
    return this.#parts
      .launch(job, {
        id: first.entry.allocation.planId,
        entries: made.map(({ entry }) => entry),
        evictions: made.flatMap(({ evictions }) => evictions),
        atomicity,
      })
      .finally(() => {
        for (const { entry } of made) this.#under.delete(entry.allocation.host);
      });
  }

  /** @returns the newcomer, assumed in memory, and who gives way to it; null when no host was found */
  async #makeRoom(
    job: OwnedJob,
    group: Group,
    state: GroupState,
    fill: Fill,
    isGang: boolean,
  ): Promise<MadeRoom | null> {
    for (const host of this.#hosts(job, group, fill, HOSTS_MAX)) {
      if (this.#under.has(host)) continue;
      this.#under.add(host);
      let made: MadeRoom | null = null;
      try {
        const running = await this.#runningOn(host);
        made = await this.#chooseOn(host, running, job, group, state, fill);
      } finally {
        if (made === null) this.#under.delete(host);
      }
      if (made !== null) return made;
      if (!this.#isWanted(job, state, fill)) return null;
    }
    // A gang may have members that fit without anybody's going.
    return isGang ? this.#placed(job, group, state, fill) : null;
  }

  #placed(job: OwnedJob, group: Group, state: GroupState, fill: Fill): MadeRoom | null {
    if (!this.#isWanted(job, state, fill)) return null;
    const [entry] = this.#parts.placer.place(job, group, [fill], this.#newId());
    return entry === undefined ? null : { entry, evictions: [] };
  }

  async #chooseOn(
    host: string,
    running: readonly AllocationReport[],
    job: OwnedJob,
    group: Group,
    state: GroupState,
    fill: Fill,
  ): Promise<MadeRoom | null> {
    let left: readonly AllocationReport[] = running;
    for (let choices = 0; choices < CHOICES_MAX; choices++) {
      const victims = this.#victimsOn(host, left, job, group, fill)?.victims;
      if (victims === undefined) return null;
      const read = await this.#read(victims, `${CAUSES.evicted} ${job.key}`);
      const leaving = victims.filter(({ id }) => read.get(id)?.victim.desired !== 'run');
      left = left.filter((report) => !leaving.includes(report));
      if (leaving.length > 0) continue;
      if (!this.#isWanted(job, state, fill) || this.#parts.isPaused()) return null;
      // Looked at again: while the store was read, the ledger may have moved on.
      const choice = this.#victimsOn(host, left, job, group, fill);
      const evictions = choice?.victims.flatMap(({ id }) => read.get(id) ?? []);
      if (choice === undefined || evictions?.length !== choice.victims.length) continue;
      const evicts = evictions.map(({ victim }) => victim.id);
      const made = { planId: this.#newId(), placement: choice.placement, evicts };
      return { entry: this.#parts.placer.assume(job, group, fill, made), evictions };
    }
    return null;
  }

  #victimsOn(host: string, running: readonly AllocationReport[], job: OwnedJob, group: Group, fill: Fill) {
    const { state } = this.#term.cell;
    const record = state.hostOf(host);
    if (record === undefined) return undefined;
    const request = this.#parts.placer.request(job, group, 1, fill);
    return (
      chooseVictims(record, state.ledgerOf(host), request, running, this.#term.world.random) ?? undefined
    );
  }

  #hosts(job: OwnedJob, group: Group, fill: Fill, most: number): readonly string[] {
    const { cell, options, world } = this.#term;
    const request = this.#parts.placer.request(job, group, 1, fill);
    return evictionHosts(cell.state, request, world.random, options.placement, { most, passed: this.#under });
  }

  /** What runs on the host and does not end by itself already; nothing when it does not say. */
  async #runningOn(hostId: string): Promise<readonly AllocationReport[]> {
    const host = this.#term.cell.state.hostOf(hostId);
    if (host === undefined) return [];
    try {
      const { allocations } = await this.#term.hostCalls.add(() => this.#term.hosts.list(host.address));
      return allocations.filter((report) => OBSERVED_RANK[report.state] < OBSERVED_RANK.stopping);
    } catch (error) {
      if (!(error instanceof HttpError) && !(error instanceof ProblemError)) throw error;
      this.#term.world.log.debug({ host: hostId, error }, 'a host did not say what could give way');
      return [];
    }
  }

  async #read(victims: readonly VictimKey[], cause: string): Promise<ReadonlyMap<string, Eviction>> {
    const { store, keys } = this.#term.world;
    const names = victims.map(({ namespace, job, id }) => keys.allocation(namespace, job, id));
    const { entries } = await store.read(names);
    const found = new Map<string, Eviction>();
    for (const { value, modRevision } of entries.values()) {
      const victim = allocationCodec.decode(value);
      found.set(victim.id, { victim, victimRevision: modRevision, cause });
    }
    return found;
  }

  /** While others were asked, the slot may have been filled, or the job changed or gone. */
  #isWanted(job: OwnedJob, state: GroupState, fill: Fill): boolean {
    if (this.#term.signal.aborted || job.dropped || job.stale || job.finishing) return false;
    if (job.groups.get(fill.group) !== state) return false;
    return this.#parts.fillsOf(job).some((now) => isSameSlot(now, fill));
  }

  /** While room was made for some members of a gang, others may have ended: they are placed together or not at all (I6). */
  #isWhole(job: OwnedJob, group: Group): boolean {
    return this.#parts.fillsOf(job).every((fill) => fill.group !== group.name);
  }

  #takeBack(job: OwnedJob, entry: Entry): void {
    this.#under.delete(entry.allocation.host);
    this.#term.cell.state.forget(entry.allocation.id);
    this.#term.room(entry.allocation.host, entry.allocation.shared);
    this.#term.dropEntry(job, entry);
  }

  #newId(): string {
    const { clock, random } = this.#term.world;
    return makeId(Math.floor(clock.nowMs()), random.bytes(16));
  }
}

type VictimKey = Claim & Pick<Allocation, 'namespace' | 'job'>;

function isSameSlot(a: Fill, b: Fill): boolean {
  return a.group === b.group && a.index === b.index && a.attempt === b.attempt && a.host === b.host;
}
