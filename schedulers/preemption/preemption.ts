/**
 * Preemption: room for slots that fit nowhere and have a higher precedence than allocations that run.
 *
 * 1. `Preemption` (this file) begins one search for each group at most, and not while an operator has paused eviction.
 * 2. Hosts are chosen in memory. Where all victims are of this scheduler, `own-victims.ts` knows them, and nothing is asked.
 *    Elsewhere `host-queries.ts` asks them what runs there, through `victim-reader.ts`, several at
 *    once; the first answer wins, and silent hosts are asked last.
 * 3. The victims on a host are chosen by `chooseVictims` (`src/core/preemption/victims.ts`), from what the host said: for single
 *    slots in `slot-preemption.ts`; for gangs in `gang-preemption.ts`, with one `gang-search.ts` for each try and one
 *    `gang-host.ts` for each host of it. The store says whether the chosen victims are still to run, and at which revision.
 * 4. The plan (`preemption-plan.ts`) goes to `commit/commit.ts`: victims and newcomers change in one commit. After it the
 *    scheduler orders the host to stop the victims (`Starter.stopVictims` of `hosts/starter.ts`) and to start the newcomers,
 *    which the host begins only when the victims are gone.
 *
 * See `docs/decisions/eviction-and-preemption.md`.
 */
import { askOf } from '../../src/core/cell/ask.ts';
import type { Group } from '../../src/core/cell/job.ts';
import { SURPLUS_PRECEDENCE } from '../../src/core/cell/claim.ts';
import type { Fill } from '../../src/core/slots/job-view.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import type { Budgets } from '../../src/runtime/records/budgets.ts';
import type { Parking } from '../decide/parking.ts';
import { backOffGroup } from '../state/group-backoff.ts';
import type { GroupState, OwnedJob } from '../state/owned-job.ts';
import type { Term } from '../state/state.ts';
import { idsOf, undoAssumed } from '../state/state.ts';
import { GangPreemption } from './gang-preemption.ts';
import type { OwnVictimsParts } from './own-victims.ts';
import { OwnVictims } from './own-victims.ts';
import type { PreemptionPlan, SearchParts } from './preemption-plan.ts';
import { SlotPreemption } from './slot-preemption.ts';
import { VictimReader } from './victim-reader.ts';

/** Slots for which victims are chosen in one search; the rest follows when these are committed. */
const SLOTS_MAX = 16;

/** Slots of a group for which hosts are asked at once. */
const ASKED_TOGETHER_MAX = 8;

export interface PreemptionParts extends Pick<SearchParts, 'placer' | 'isPaused' | 'fillsOf'> {
  readonly parking: Pick<Parking, 'unparked'>;
  /** Has it given its place up already, of which its host and the store know nothing? Absent: they know of all. */
  readonly isGone?: (allocation: string) => boolean;
  /** Absent: every host is asked what runs there. */
  readonly own?: OwnVictimsParts;
  /** The cell's budget of evictions; absent: nothing is bounded. */
  readonly budgets?: Pick<Budgets, 'take' | 'isWaiting' | 'whyWaits'>;
  /** Tickets, commit and start. @returns when the plan has come to its end */
  readonly runPlan: (job: OwnedJob, plan: PreemptionPlan) => Promise<unknown>;
}

/** Makes room by preemption; see the head of this file. */
export class Preemption {
  readonly #term: Term;
  readonly #parts: PreemptionParts;
  /** Hosts with a preemption of this scheduler under way: another would choose from an outdated list. */
  readonly #busyHosts = new Set<string>();
  readonly #slots: SlotPreemption;
  readonly #gangs: GangPreemption;

  constructor(term: Term, parts: PreemptionParts) {
    this.#term = term;
    this.#parts = parts;
    const { own, ...common } = parts;
    const victims = new VictimReader(term, parts.isGone);
    const search: SearchParts = {
      ...{ ...common, victims, busyHosts: this.#busyHosts },
      ...(own === undefined ? {} : { own: new OwnVictims(term, own) }),
    };
    this.#slots = new SlotPreemption(term, search);
    this.#gangs = new GangPreemption(term, search);
  }

  /**
   * Begins to make room for the slots, if that may be done and could help.
   * @param fills of one group, unplaced
   * @returns when all that it committed has come to its end
   */
  async begin(job: OwnedJob, group: Group, fills: readonly Fill[], isGang: boolean): Promise<void> {
    const state = job.group(group.name);
    const [first] = fills;
    if (first === undefined || state.preempting !== null || this.#parts.isPaused()) return;
    // It is woken when there are tokens.
    if (this.#parts.budgets?.isWaiting('evictions', job.key) === true) return;
    const host = this.#slots.host(job, group, first);
    if (host === undefined) return;
    state.preempting = `precedence ${String(job.record.job.precedence)} preempts lower precedence, first on ${host}`;
    this.#term.emit('evicting', job, `${group.name}: ${state.preempting}`);
    const wanted = isGang ? fills : fills.slice(0, SLOTS_MAX);
    await this.#run(job, group, state, wanted, isGang ? null : host);
  }

  /** @param firstHost for the first slot; null: the slots are a gang */
  async #run(
    job: OwnedJob,
    group: Group,
    state: GroupState,
    fills: readonly Fill[],
    firstHost: string | null,
  ): Promise<void> {
    const plans: Promise<unknown>[] = [];
    try {
      if (firstHost === null) {
        const plan = await this.#gangs.find(job, group, fills);
        if (plan !== null && this.#affords(job, group, plan)) plans.push(this.#runPlan(job, state, plan));
      } else await this.#findSlots(job, group, state, fills, firstHost, plans);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#term.world.log.warn({ ...idsOf(job), error }, 'cannot read the victims of a preemption');
    } finally {
      await Promise.all(plans);
      state.preempting = null;
    }
    const { skipped } = state;
    state.skipped = false;
    if (plans.length > 0 || skipped) this.#term.enqueue(job);
  }

  /** @param plans gets one of each slot for which victims are found, as soon as it begins */
  async #findSlots(
    job: OwnedJob,
    group: Group,
    state: GroupState,
    fills: readonly Fill[],
    firstHost: string,
    plans: Promise<unknown>[],
  ): Promise<void> {
    const rest: Fill[] = [];
    for (const [at, fill] of fills.entries()) {
      const plan = this.#slots.findOwn(job, group, state, fill, at === 0 ? firstHost : undefined);
      if (plan === null) rest.push(fill);
      else if (this.#affords(job, group, plan)) plans.push(this.#runPlan(job, state, plan));
      else return;
    }
    // Where one slot bears on the host of the next, they are looked for one after the other.
    const isApart = group.distinct.length === 0 && askOf(group).shared === undefined;
    const together = isApart ? ASKED_TOGETHER_MAX : 1;
    for (let at = 0; at < rest.length; at += together) {
      const found = await Promise.all(
        rest.slice(at, at + together).map(async (fill) => {
          const plan = await this.#slots.ask(job, group, state, fill);
          if (plan === null || !this.#affords(job, group, plan)) return false;
          plans.push(this.#runPlan(job, state, plan));
          return true;
        }),
      );
      if (found.includes(false)) return;
    }
  }

  /** Spends what each victim costs, or nothing; without tokens for all of them all is as it was, and the job waits. */
  #affords(job: OwnedJob, group: Group, plan: PreemptionPlan): boolean {
    const { budgets } = this.#parts;
    const victims = plan.evictions
      .map(({ victim }) => victim)
      .filter(({ precedence }) => precedence !== SURPLUS_PRECEDENCE);
    if (budgets === undefined || budgets.take('evictions', job.key, victims)) return true;
    for (const host of plan.hosts) this.#busyHosts.delete(host);
    for (const entry of plan.entries) undoAssumed(this.#term, job, entry);
    if (budgets.isWaiting('evictions', job.key)) return false;
    // Fewer victims may do later; what was given back looks like room for the same ones.
    backOffGroup(this.#term, job, group.name, budgets.whyWaits('evictions', job.key) ?? '', null);
    return false;
  }

  #runPlan(job: OwnedJob, state: GroupState, plan: PreemptionPlan): Promise<unknown> {
    // What is left of the group may be decided again.
    state.parked = false;
    state.parkedSinceMs = null;
    this.#parts.parking.unparked(job);
    return this.#parts.runPlan(job, plan).finally(() => {
      for (const host of plan.hosts) this.#busyHosts.delete(host);
    });
  }
}
