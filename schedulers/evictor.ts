import { evictionHosts } from '../src/core/eviction-hosts.ts';
import { makeId } from '../src/core/ids.ts';
import type { Group } from '../src/core/job.ts';
import type { Atomicity, Eviction } from '../src/core/plan.ts';
import type { AllocationReport } from '../src/core/report.ts';
import type { Fill } from '../src/core/slot-view.ts';
import { CAUSES } from '../src/core/slot-view.ts';
import { chooseVictims } from '../src/core/victims.ts';
import { StoreError } from '../src/ports/cell-store.ts';
import type { Term } from './context.ts';
import { GangRoom } from './gang-room.ts';
import type { Entry, GroupState, OwnedJob } from './owned-job.ts';
import type { Parking } from './parking.ts';
import type { Placer } from './placer.ts';
import { VictimReader } from './victim-reader.ts';

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
  /** Where somebody is to give way: no other eviction is begun there until this one has ended. */
  readonly hosts: readonly string[];
  readonly atomicity: Atomicity;
}

/**
 * Makes room for slots that fit nowhere and are worth more than something that runs. Hosts are found in memory; then the
 * chosen host says what runs on it, and the store says whether that is still wanted and at which revision. Victims and
 * newcomer change in one commit; the host stops the first before it starts the second. For gangs see `GangRoom`.
 */
export class Evictor {
  readonly #term: Term;
  readonly #parts: EvictorParts;
  /** Hosts on which an own eviction is under way: their next one would be chosen from what is no longer so. */
  readonly #under = new Set<string>();

  readonly #victims: VictimReader;
  readonly #gangs: GangRoom;

  constructor(term: Term, parts: EvictorParts) {
    this.#term = term;
    this.#parts = parts;
    this.#victims = new VictimReader(term);
    this.#gangs = new GangRoom(term, { ...parts, victims: this.#victims, under: this.#under });
  }

  /** Begins to make room for the slots, if that may be done and could help. @param fills of one group, unplaced */
  consider(job: OwnedJob, group: Group, fills: readonly Fill[], isGang: boolean): void {
    const state = job.group(group.name);
    const [first] = fills;
    if (first === undefined || state.evicting !== null || this.#parts.isPaused()) return;
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
    const launches: Promise<unknown>[] = [];
    try {
      if (isGang) {
        const plan = await this.#gangs.find(job, group, fills);
        if (plan !== null) launches.push(this.#launch(job, state, plan));
      } else
        for (const fill of fills) {
          const plan = await this.#makeRoom(job, group, state, fill);
          if (plan === null) break;
          launches.push(this.#launch(job, state, plan));
        }
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#term.world.log.warn({ job: job.key, error }, 'cannot read what would give way');
    } finally {
      await Promise.all(launches);
      state.evicting = null;
    }
    const { passedOver } = state;
    state.passedOver = false;
    if (launches.length > 0 || passedOver) this.#term.look(job);
  }

  #launch(job: OwnedJob, state: GroupState, plan: EvictingPlan): Promise<unknown> {
    // Something moves: what is left of the group may be looked at again.
    state.parked = false;
    state.parkedSinceMs = null;
    this.#parts.parking.unparked(job);
    return this.#parts.launch(job, plan).finally(() => {
      for (const host of plan.hosts) this.#under.delete(host);
    });
  }

  /** @returns the newcomer, assumed in memory, and who gives way to it; null when no host was found */
  async #makeRoom(job: OwnedJob, group: Group, state: GroupState, fill: Fill): Promise<EvictingPlan | null> {
    for (const host of this.#hosts(job, group, fill, HOSTS_MAX)) {
      if (this.#under.has(host)) continue;
      this.#under.add(host);
      let made: EvictingPlan | null = null;
      try {
        const running = (await this.#victims.runningOn(host)) ?? [];
        made = await this.#chooseOn(host, running, job, group, state, fill);
      } finally {
        if (made === null) this.#under.delete(host);
      }
      if (made !== null) return made;
      if (!this.#isWanted(job, state, fill)) return null;
    }
    return null;
  }

  async #chooseOn(
    host: string,
    running: readonly AllocationReport[],
    job: OwnedJob,
    group: Group,
    state: GroupState,
    fill: Fill,
  ): Promise<EvictingPlan | null> {
    let left: readonly AllocationReport[] = running;
    for (let choices = 0; choices < CHOICES_MAX; choices++) {
      const victims = this.#victimsOn(host, left, job, group, fill)?.victims;
      if (victims === undefined) return null;
      const read = await this.#victims.read(victims, `${CAUSES.evicted} ${job.key}`);
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
      const entries = [this.#parts.placer.assume(job, group, fill, made)];
      return { id: made.planId, entries, evictions, hosts: [host], atomicity: this.#term.options.atomicity };
    }
    return null;
  }

  #victimsOn(host: string, running: readonly AllocationReport[], job: OwnedJob, group: Group, fill: Fill) {
    const { state } = this.#term.cell;
    const record = state.hostOf(host);
    if (record === undefined) return undefined;
    const request = this.#parts.placer.evictingRequest(job, group, fill);
    return (
      chooseVictims(record, state.ledgerOf(host), request, running, this.#term.world.random) ?? undefined
    );
  }

  #hosts(job: OwnedJob, group: Group, fill: Fill, most: number): readonly string[] {
    const { cell, world } = this.#term;
    const request = this.#parts.placer.evictingRequest(job, group, fill);
    return evictionHosts(cell.state, request, world.random, { most, passed: this.#under });
  }

  /** While others were asked, the slot may have been filled, or the job changed or gone. */
  #isWanted(job: OwnedJob, state: GroupState, fill: Fill): boolean {
    if (this.#term.signal.aborted || job.dropped || job.stale || job.finishing) return false;
    if (job.groups.get(fill.group) !== state) return false;
    return this.#parts.fillsOf(job).some((now) => isSameSlot(now, fill));
  }

  #newId(): string {
    const { clock, random } = this.#term.world;
    return makeId(Math.floor(clock.nowMs()), random.bytes(16));
  }
}

function isSameSlot(a: Fill, b: Fill): boolean {
  return a.group === b.group && a.index === b.index && a.attempt === b.attempt && a.host === b.host;
}
