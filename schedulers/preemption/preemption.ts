import type { Group } from '../../src/core/cell/job.ts';
import type { Atomicity, Eviction } from '../../src/core/commit/plan.ts';
import type { Fill } from '../../src/core/slots/job-view.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import type { Term } from '../state/state.ts';
import { GangRoom } from './gang-preemption.ts';
import type { Entry, GroupState, OwnedJob } from '../state/owned-job.ts';
import type { Parking } from '../decide/parking.ts';
import type { Placer } from '../decide/placer.ts';
import { SlotRoom } from './slot-preemption.ts';
import { VictimReader } from './victim-reader.ts';

/** Slots for which room is made in one round; the rest follows when these have landed. */
const ROUND_MAX = 16;

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
 * newcomer change in one commit; the host stops the first before it starts the second. For one slot see `SlotRoom`, for gangs `GangRoom`.
 */
export class Evictor {
  readonly #term: Term;
  readonly #parts: EvictorParts;
  /** Hosts on which an own eviction is under way: their next one would be chosen from what is no longer so. */
  readonly #under = new Set<string>();
  readonly #slots: SlotRoom;
  readonly #gangs: GangRoom;

  constructor(term: Term, parts: EvictorParts) {
    this.#term = term;
    this.#parts = parts;
    const room = { ...parts, victims: new VictimReader(term), under: this.#under };
    this.#slots = new SlotRoom(term, room);
    this.#gangs = new GangRoom(term, room);
  }

  /** Begins to make room for the slots, if that may be done and could help. @param fills of one group, unplaced */
  consider(job: OwnedJob, group: Group, fills: readonly Fill[], isGang: boolean): void {
    const state = job.group(group.name);
    const [first] = fills;
    if (first === undefined || state.evicting !== null || this.#parts.isPaused()) return;
    const host = this.#slots.host(job, group, first);
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
          const plan = await this.#slots.find(job, group, state, fill);
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
}
