import { preemptionHosts } from '../../src/core/preemption/preemption.ts';
import type { Group } from '../../src/core/cell/job.ts';
import type { Claim } from '../../src/core/cell/claim.ts';
import type { Eviction } from '../../src/core/commit/plan.ts';
import type { Placement, PlacementRequest } from '../../src/core/placement/placement-request.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import type { Fill } from '../../src/core/slots/job-view.ts';
import { CAUSES } from '../../src/core/slots/job-view.ts';
import { chooseVictims } from '../../src/core/preemption/victims.ts';
import type { GroupState, OwnedJob } from '../state/owned-job.ts';
import type { Term } from '../state/state.ts';
import { newId } from '../state/state.ts';
import { isKeptHost } from './victim-reader.ts';
import { HostQueries, silentLast } from './host-queries.ts';
import type { PreemptionPlan, SearchParts } from './preemption-plan.ts';

/** Hosts asked for one slot, before it waits for capacity to be freed. */
const HOSTS_MAX = 4;
/** Choices on one host, when chosen victims turn out to be stopping already. */
const CHOICES_MAX = 3;
/** How long hosts may take to say what runs on them: the rest of the group waits meanwhile. */
const SEARCH_MAX_MS = 3_000;

const NO_HOSTS: ReadonlySet<string> = new Set();

/** Chooses victims for one slot: its own ones at once, others on the first host that says what runs there and has victims for it. */
export class SlotPreemption {
  readonly #term: Term;
  readonly #parts: SearchParts;

  constructor(term: Term, parts: SearchParts) {
    this.#term = term;
    this.#parts = parts;
  }

  /** @returns a host where a preemption could make room, as far as the private cell shows */
  host(job: OwnedJob, group: Group, fill: Fill): string | undefined {
    return this.#nextHost(this.#parts.placer.evictingRequest(job, group, fill), true);
  }

  /**
   * Without a question, while the hosts that are chosen have no victims but this scheduler's own.
   *
   * @param first a host that `host` has just returned for the slot, as it was decided; absent: there is none
   * @returns as `ask`
   */
  findOwn(job: OwnedJob, group: Group, state: GroupState, fill: Fill, first?: string): PreemptionPlan | null {
    const { own, placer, busyHosts, isPaused } = this.#parts;
    if (own === undefined || isPaused()) return null;
    if (first === undefined && !this.#isWanted(job, state, fill)) return null;
    const request = placer.evictingRequest(job, group, fill);
    const without = new Set<string>();
    for (let next = first; without.size < HOSTS_MAX; next = undefined) {
      const host = next ?? this.#nextHost(request, false, without);
      if (host === undefined || this.#term.hostCalls.isSilent(host)) return null;
      const known = own.on(host, request);
      if (known === null) return null;
      const claims = known.map(({ victim }) => victim);
      const choice = this.#victimsOn(host, claims, request);
      if (choice !== undefined) {
        busyHosts.add(host);
        const cause = `${CAUSES.evicted} ${job.key}`;
        const chosen = new Set(choice.victims);
        const evictions = known.filter(({ victim }) => chosen.has(victim)).map((one) => ({ ...one, cause }));
        return this.#planOf(job, group, fill, choice.placement, evictions);
      }
      without.add(host);
    }
    return null;
  }

  /**
   * Asks hosts what runs there, and the store whether the victims are to run.
   *
   * @returns the newcomer, assumed in memory, and its victims, their host in `busyHosts`; null when no host was found
   * @throws StoreError
   */
  async ask(job: OwnedJob, group: Group, state: GroupState, fill: Fill): Promise<PreemptionPlan | null> {
    const { clock, log } = this.#term.world;
    const { busyHosts, victims } = this.#parts;
    const untilMs = clock.monotonicMs() + SEARCH_MAX_MS;
    const queries = new HostQueries({ clock, log, victims });
    const answers: { readonly host: string; readonly running: readonly AllocationReport[] }[] = [];
    const asked: string[] = [];
    let plan: PreemptionPlan | null = null;
    try {
      while (this.#isWanted(job, state, fill)) {
        const answer = answers.shift();
        if (answer !== undefined) {
          plan = await this.#chooseOn(answer.host, answer.running, job, group, state, fill);
          if (plan !== null) return plan;
          continue;
        }
        if (clock.monotonicMs() >= untilMs) return null;
        const mayAsk = asked.length < HOSTS_MAX && queries.onTime === 0;
        const request = mayAsk ? this.#parts.placer.evictingRequest(job, group, fill) : null;
        const host = request === null ? undefined : this.#nextHost(request, queries.open === 0);
        if (host !== undefined) {
          asked.push(host);
          busyHosts.add(host);
          queries.ask(host, (running) => running !== null && answers.push({ host, running }));
        } else if (queries.open === 0) return null;
        await queries.next(untilMs);
      }
      return null;
    } finally {
      queries.end();
      for (const host of asked) if (plan?.hosts.includes(host) !== true) busyHosts.delete(host);
    }
  }

  async #chooseOn(
    host: string,
    running: readonly AllocationReport[],
    job: OwnedJob,
    group: Group,
    state: GroupState,
    fill: Fill,
  ): Promise<PreemptionPlan | null> {
    let left: readonly AllocationReport[] = running;
    for (let choices = 0; choices < CHOICES_MAX; choices++) {
      const { placer } = this.#parts;
      const victims = this.#victimsOn(host, left, placer.evictingRequest(job, group, fill))?.victims;
      if (victims === undefined) return null;
      const read = await this.#parts.victims.read(victims, `${CAUSES.evicted} ${job.key}`);
      const stopping = victims.filter(({ id }) => read.get(id)?.victim.desired !== 'run');
      left = left.filter((report) => !stopping.includes(report));
      if (stopping.length > 0) continue;
      if (!this.#isWanted(job, state, fill) || this.#parts.isPaused()) return null;
      // Chosen again: while the store was read, the ledger may have changed.
      const choice = this.#victimsOn(host, left, placer.evictingRequest(job, group, fill));
      const evictions = choice?.victims.flatMap(({ id }) => read.get(id) ?? []);
      if (choice === undefined || evictions?.length !== choice.victims.length) continue;
      return this.#planOf(job, group, fill, choice.placement, evictions);
    }
    return null;
  }

  #planOf(
    job: OwnedJob,
    group: Group,
    fill: Fill,
    placement: Placement,
    evictions: readonly Eviction[],
  ): PreemptionPlan {
    const { world, options } = this.#term;
    const evicts = evictions.map(({ victim }) => victim.id);
    const made = { planId: newId(world), id: newId(world), placement, evicts };
    const entries = [this.#parts.placer.assume(job, group, fill, made)];
    const { atomicity } = options;
    return { id: made.planId, entries, evictions, hosts: [placement.host], atomicity };
  }

  #victimsOn<T extends Claim>(host: string, running: readonly T[], request: PlacementRequest) {
    const { state } = this.#term.cell;
    const record = state.hostOf(host);
    if (record === undefined) return undefined;
    return (
      chooseVictims(record, state.ledgerOf(host), request, running, this.#term.world.random) ?? undefined
    );
  }

  /** Hosts with a preemption under way are passed over, and with them those that were asked. */
  #nextHost(
    request: PlacementRequest,
    isLastResort: boolean,
    without: ReadonlySet<string> = NO_HOSTS,
  ): string | undefined {
    const { cell, hostCalls, world } = this.#term;
    const { busyHosts } = this.#parts;
    const isSilent = (host: string): boolean => hostCalls.isSilent(host);
    return silentLast(isSilent, isLastResort, (isPassed) => {
      // Silent hosts are in no set, so there is no size.
      const size = Number.POSITIVE_INFINITY;
      const isBusy = (host: string): boolean =>
        busyHosts.has(host) || without.has(host) || isKeptHost(this.#term, host);
      const passed = { size, has: (host: string) => isBusy(host) || isPassed(host) };
      return preemptionHosts(cell.state, request, world.random, { excluded: passed, most: 1 })[0];
    });
  }

  /** While hosts were asked, the slot may have been filled, or the job changed or gone. */
  #isWanted(job: OwnedJob, state: GroupState, fill: Fill): boolean {
    if (this.#term.signal.aborted || job.dropped || job.stale || job.finishing) return false;
    if (job.groups.get(fill.group) !== state) return false;
    return this.#parts.fillsOf(job).some((now) => isSameSlot(now, fill));
  }
}

/** A slot that goes where its data lies has no host of its own in an evaluation. */
function isSameSlot(a: Fill, b: Fill): boolean {
  const isThere = a.host === undefined || b.host === undefined || a.host === b.host;
  return a.group === b.group && a.index === b.index && a.attempt === b.attempt && isThere;
}
