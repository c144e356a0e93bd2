import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { Group } from '../../src/core/cell/job.ts';
import { slotName } from '../../src/core/cell/ids.ts';
import type { Eviction } from '../../src/core/commit/plan.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import { claimOf } from '../../src/core/quota/ticket.ts';
import { isTerminal, OBSERVED_RANK } from '../../src/core/host/states.ts';
import type { Evaluation, Stop } from '../../src/core/slots/job-view.ts';
import { CAUSES } from '../../src/core/slots/job-view.ts';
import { isUp } from '../../src/core/slots/rollout.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import type { PlanAct } from '../../src/wire/plan/plan.ts';
import type { DeciderParts } from '../decide/decide.ts';
import { Decider } from '../decide/decide.ts';
import { Parking } from '../decide/parking.ts';
import { Placer } from '../decide/placer.ts';
import type { WhyTerm } from '../decide/why.ts';
import { Preemption } from '../preemption/preemption.ts';
import type { PreemptionPlan } from '../preemption/preemption-plan.ts';
import type { Entry, GroupState, OwnedJob } from '../state/owned-job.ts';
import type { Term } from '../state/state.ts';
import { wallMs } from '../state/state.ts';
import { TimeSlice } from '../../src/runtime/wait/time-slice.ts';
import type { ScratchCell } from './scratch-cell.ts';
import { scratchTerm } from './scratch-term.ts';

/** Steps of work between two looks at the event loop, for clocks that stand still meanwhile. */
const SLICE_STEPS = 32;

export interface DryRunParts extends Pick<DeciderParts, 'secrets' | 'isPaused' | 'isReporting'> {
  readonly pauseOf: WhyTerm['pauseOf'];
  readonly onAct: (job: OwnedJob, act: PlanAct) => void;
  /** The victim of a preemption; its own job may move it. */
  readonly onVictim: (job: OwnedJob, eviction: Eviction) => void;
}

/**
 * Decides jobs on a scratch cell, with the code that decides them: what is placed then runs and is ready, what is stopped is
 * released, and the job is decided again, until nothing follows. Releases come first, as they do on hosts: an allocation counts
 * as up only after a while.
 */
export class DryRun {
  readonly why: WhyTerm;
  readonly placer: Placer;
  readonly #term: Term;
  readonly #cell: ScratchCell;
  readonly #parts: DryRunParts;
  readonly #decider: Decider;
  readonly #slice: TimeSlice;
  /** Placed here, and not up yet. */
  readonly #young = new Set<Entry>();
  #preemptions: Promise<void>[] = [];
  /** Something changed since the decision began, for which the job is decided again. */
  #isMore = false;
  readonly #finished = new Map<string, NonNullable<Evaluation['finished']>>();
  /** Where each slot had its last allocation that stopped, by job and slot. */
  readonly #left = new Map<string, string>();

  constructor(real: Term, cell: ScratchCell, parts: DryRunParts) {
    this.#cell = cell;
    this.#parts = parts;
    const term = scratchTerm(real, cell);
    this.#term = term;
    this.#slice = new TimeSlice(term.world.clock, term.signal, SLICE_STEPS);
    const placer = new Placer(term);
    this.placer = placer;
    const parking = new Parking({
      ...{ clock: term.world.clock, state: cell.state },
      ...{ wake: () => undefined, partition: () => term.partition },
    });
    const preemption = new Preemption(term, {
      ...{ placer, parking },
      fillsOf: (job) => this.#decider.evaluationOf(job, wallMs(term.world)).fills,
      runPlan: async (job, plan) => {
        // As with a commit: the search for the next slot goes on before the victims are marked.
        await sleep(term.world.clock, 0, term.signal);
        this.#preempt(job, plan);
      },
      isPaused: () => parts.pauseOf('eviction', {}) !== null,
      isGone: (allocation) => cell.isFree(allocation),
    });
    this.#decider = new Decider(term, {
      ...{
        placer,
        parking,
        secrets: parts.secrets,
        isPaused: parts.isPaused,
        isReporting: parts.isReporting,
        // What is idle changes from moment to moment: a plan tells of the minimum, and leaves what has grown.
        elasticTarget: real.options.kind === 'elastic' ? (_group: Group, has: number) => has : null,
      },
      preempt: (job, group, fills, isGang) => {
        this.#preemptions.push(preemption.begin(job, group, fills, isGang));
      },
      stopper: {
        stop: (job, stops) => Promise.resolve(this.#stop(job, stops)),
        orderAll: () => undefined,
      },
      releaser: { release: (job, entry, outcome) => this.#release(job, entry, outcome) },
      records: {
        unplaceable: () => undefined,
        rollout: (job, rollout) => {
          const { version } = job.record;
          this.#isMore ||= job.rollout?.version !== version || job.rollout.state !== rollout.state;
          job.rollout = { version, ...rollout, sinceMs: wallMs(term.world) };
        },
      },
      finish: (job, as) => this.#finished.set(job.key, as),
    });
    this.why = {
      world: term.world,
      options: term.options,
      cell,
      decider: this.#decider,
      placer,
      pauseOf: parts.pauseOf,
      budgetWaits: () => null,
    };
  }

  /** How the job would end; absent: it would not. */
  finishedAs(job: OwnedJob): NonNullable<Evaluation['finished']> | undefined {
    return this.#finished.get(job.key);
  }

  /**
   * @param untilMs gives up then (monotonic)
   * @returns whether all was decided
   */
  async settle(job: OwnedJob, untilMs: number): Promise<boolean> {
    const { clock } = this.#term.world;
    for (const entry of job.entries.values()) this.#quieten(entry);
    let rounds = roundsFor(job);
    do {
      if (rounds-- <= 0 || clock.monotonicMs() >= untilMs || this.#term.signal.aborted) return false;
      this.#isMore = false;
      const { plans, more } = this.#decider.decide(job);
      for (const { entries } of plans) for (const entry of entries) this.#placed(job, entry);
      await Promise.all(this.#preemptions.splice(0));
      this.#endStopped(job);
      this.#isMore ||= more || this.#ripen();
      if (this.#isMore) for (const state of job.groups.values()) unblock(state);
      if (this.#slice.step()) await this.#slice.yield();
    } while (this.#isMore);
    return true;
  }

  /** An allocation of the job that another job preempts. @returns false: it is not there, or ends already */
  evict(job: OwnedJob, id: string, by: string): boolean {
    const entry = job.entries.get(id);
    if (entry?.allocation.desired !== 'run') return false;
    entry.allocation = { ...entry.allocation, desired: 'evict', cause: `${CAUSES.evicted} ${by}` };
    this.#note(job, 'stop', entry.allocation);
    return true;
  }

  /** When nothing else follows, what was placed has run for long enough to count as up. */
  #ripen(): boolean {
    if (this.#isMore || this.#young.size === 0) return false;
    for (const entry of this.#young) entry.upSinceMs = Number.NEGATIVE_INFINITY;
    this.#young.clear();
    return true;
  }

  /** What is under way comes to its end, and what is up stays up. */
  #quieten(entry: Entry): void {
    entry.revision ||= 1;
    if (entry.report === null || OBSERVED_RANK[entry.report.state] < OBSERVED_RANK.running)
      entry.report = runningReport(entry.allocation);
    if (isUp(entry.report)) entry.upSinceMs = Number.NEGATIVE_INFINITY;
  }

  #placed(job: OwnedJob, entry: Entry): void {
    entry.revision = 1;
    entry.stage = 'started';
    entry.report = runningReport(entry.allocation);
    entry.upSinceMs = this.#term.world.clock.monotonicMs();
    this.#young.add(entry);
    this.#cell.placed(claimOf(entry.allocation));
    this.#isMore = true;
    this.#note(job, 'start', entry.allocation);
  }

  #stop(job: OwnedJob, stops: readonly Stop[]): void {
    for (const { allocation, mode, cause } of stops) {
      const entry = job.entries.get(allocation.id);
      if (entry === undefined) continue;
      entry.allocation = { ...entry.allocation, desired: mode, cause };
      this.#isMore = true;
      this.#note(job, 'stop', entry.allocation);
    }
  }

  #preempt(job: OwnedJob, { entries, evictions }: PreemptionPlan): void {
    for (const eviction of evictions) {
      const { victim } = eviction;
      this.#cell.free(claimOf(victim));
      this.#parts.onAct(job, { act: 'preempt', ...placeOf(victim), allocation: victim.id });
      this.#parts.onVictim(job, eviction);
    }
    for (const entry of entries) this.#placed(job, entry);
  }

  /** Hosts end what is to stop, and release what has ended, but for lost ones. */
  #endStopped(job: OwnedJob): void {
    for (const entry of job.entries.values()) {
      const { allocation } = entry;
      const report = entry.report ?? runningReport(allocation);
      const hasEnded = isTerminal(report.state);
      const isLost = this.#cell.condition(allocation.host).state === 'lost';
      if (isLost || report.released || (allocation.desired === 'run' && !hasEnded)) continue;
      entry.report = { ...report, state: hasEnded ? report.state : 'killed', released: true };
      this.#isMore = true;
    }
  }

  #release(job: OwnedJob, entry: Entry, outcome: Parameters<OwnedJob['addOutcome']>[0] | null): void {
    this.#cell.free(claimOf(entry.allocation));
    job.entries.delete(entry.allocation.id);
    if (outcome !== null) job.addOutcome(outcome);
    this.#isMore = true;
  }

  #note(job: OwnedJob, act: 'start' | 'stop', allocation: Allocation): void {
    const place = placeOf(allocation);
    // Slots of a system job have no name that stays: each stands for its host.
    const slot = `${job.key} ${job.record.job.type === 'system' ? allocation.host : place.slot}`;
    if (act === 'stop') {
      const { id, cause = '' } = allocation;
      this.#left.set(slot, allocation.host);
      this.#parts.onAct(job, { act, ...place, allocation: id, cause });
      return;
    }
    const from = this.#left.get(slot);
    this.#left.delete(slot);
    this.#parts.onAct(job, { act, ...place, ...(from === undefined ? {} : { from }) });
  }
}

/** Time does not pass in a plan: after each change, what waits for capacity or for its delay is tried again. */
function unblock(state: GroupState): void {
  state.parked = false;
  state.blockedUntilMs = 0;
}

/** A slot that is replaced is decided three times; each canary, gang and preemption adds some. */
const ROUNDS = { first: 64, perSlot: 8 };

function roundsFor({ record, entries }: OwnedJob): number {
  const slots = Object.values(record.job.groups).reduce((sum, { count }) => sum + count, entries.size);
  return ROUNDS.first + ROUNDS.perSlot * slots;
}

/** How an act names the allocation. */
export function placeOf({ namespace, job, group, index, host }: Allocation) {
  return { namespace, job, slot: slotName(job, group, index), host };
}

/** What its host would say of it as soon as it is up. */
function runningReport(allocation: Allocation): AllocationReport {
  const { namespace, job, jobVersion, group, index, attempt, scheduler } = allocation;
  return {
    ...{ ...claimOf(allocation), namespace, job, jobVersion, group, index, attempt, scheduler },
    ...{ state: 'running', released: false, reason: '', restarts: 0, tasks: {} },
  };
}
