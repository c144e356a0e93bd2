import { DistinctCount } from '../../src/core/preemption/distinct-count.ts';
import type { PreemptionRules, ExcludedHosts } from '../../src/core/preemption/preemption.ts';
import { preemptionHosts, mayPreemptOn } from '../../src/core/preemption/preemption.ts';
import type { KnownHost } from '../../src/core/cell-state/host-slot.ts';
import type { Group } from '../../src/core/cell/job.ts';
import type { PlacementRequest, Placement } from '../../src/core/placement/placement-request.ts';
import type { Eviction } from '../../src/core/commit/plan.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import type { Fill } from '../../src/core/slots/job-view.ts';
import { CAUSES } from '../../src/core/slots/job-view.ts';
import { TimeSlice } from '../../src/runtime/wait/time-slice.ts';
import type { Term } from '../state/state.ts';
import { newId } from '../state/state.ts';
import type { PreemptionPlan, SearchParts } from './preemption-plan.ts';
import { GangHost } from './gang-host.ts';
import { HostQueries, silentLast } from './host-queries.ts';
import { isKeptHost } from './victim-reader.ts';
import type { Entry, OwnedJob } from '../state/owned-job.ts';

/** Steps of the search in one time slice at most. */
const SLICE_STEPS = 32;

/** Hosts tried for a member, before the gang waits for capacity to be freed. */
const HOSTS_MAX = 4;
/** Hosts asked for each missing member, likewise. */
const HOSTS_A_MEMBER_MAX = 4;

/** How long one member waits for a host that answers: longer than any query is open. */
const UNANSWERED_MAX_MS = 5_000;

const NO_HOSTS: ReadonlySet<string> = new Set();

export interface GangSearchState {
  /** Victims that the store showed as stopping already. */
  readonly stopping: Set<string>;
  /** When the search ends (monotonic). */
  readonly untilMs: number;
  /** A member has waited for too long for a host that answers. */
  isUnanswered: boolean;
}

/** One try to choose hosts and victims for a gang in memory, from the first member to the last. */
export class GangSearch {
  readonly #term: Term;
  readonly #parts: SearchParts;
  readonly #job: OwnedJob;
  readonly #group: Group;
  readonly #state: GangSearchState;
  readonly #id: string;
  readonly #record: unknown;
  readonly #slotsFailed: number;
  readonly #slice: TimeSlice;
  readonly #entries: Entry[] = [];
  /** Members on each host that fit there without victims. */
  readonly #fitting = new Map<string, number>();
  readonly #hosts = new Map<string, GangHost>();
  /** Hosts that may take one more member without another victim. */
  readonly #withCapacity = new Set<GangHost>();
  /** Hosts that have answered and were not tried yet. */
  #untried: readonly GangHost[] = [];
  /** Hosts that take no more members, with any victims. */
  readonly #full = new Set<string>();
  /** Hosts of the group, with those chosen here, as far as `distinct` keeps members apart. */
  readonly #held: DistinctCount;
  readonly #queries: HostQueries;
  #hostsLeft = 0;

  constructor(term: Term, parts: SearchParts, job: OwnedJob, group: Group, state: GangSearchState) {
    this.#term = term;
    this.#parts = parts;
    this.#job = job;
    this.#group = group;
    this.#state = state;
    this.#record = job.record;
    this.#slotsFailed = job.slotsFailed;
    const { clock } = term.world;
    this.#id = newId(term.world);
    this.#slice = new TimeSlice(clock, term.signal, SLICE_STEPS);
    this.#queries = new HostQueries({ clock, log: term.world.log, victims: parts.victims });
    this.#held = new DistinctCount(term.cell.state, group, parts.placer.heldForDistinct(job, group));
  }

  /** Is the gang still wanted as it was, and is there time left? Asked after each wait. */
  get isWanted(): boolean {
    const { dropped, stale, finishing, record, slotsFailed } = this.#job;
    if (this.#term.signal.aborted || dropped || stale || finishing) return false;
    // The `waitMax` of some members ended, and they have their outcomes.
    if (slotsFailed !== this.#slotsFailed) return false;
    if (this.#term.world.clock.monotonicMs() >= this.#state.untilMs) return false;
    return record === this.#record && !this.#parts.isPaused();
  }

  /** @returns false: not all of them fit, or they are no longer wanted */
  async placeAll(fills: readonly Fill[]): Promise<boolean> {
    const { placer } = this.#parts;
    this.#entries.push(...(placer.place(this.#job, this.#group, fills, this.#id) ?? []));
    for (const entry of this.#entries) {
      const { host } = entry.allocation;
      this.#fitting.set(host, (this.#fitting.get(host) ?? 0) + 1);
      this.#held.add(this.#knownHost(entry));
    }
    const placed = new Set(this.#entries.map(({ allocation }) => allocation.index));
    const missing = fills.filter(({ index }) => !placed.has(index));
    this.#hostsLeft = HOSTS_A_MEMBER_MAX * missing.length;
    for (const [at, fill] of missing.entries()) {
      if (!(await this.#placeMember(fill, missing.length - at)) || !(await this.#continues())) return false;
    }
    return true;
  }

  /** After each step: yields when the time slice is used up; the job may end or change meanwhile. */
  async #continues(): Promise<boolean> {
    if (!this.#slice.step()) return true;
    await this.#slice.yield();
    return this.isWanted;
  }

  async #placeMember(fill: Fill, missing: number): Promise<boolean> {
    const request = this.#parts.placer.memberRequest(this.#job, this.#group, fill);
    if (this.#fitBeside(fill, request)) return true;
    for (let tries = 0; tries < HOSTS_MAX; tries++) {
      const host = this.#nextUntried(request) ?? (await this.#ask(request, missing));
      if (host === null || !this.isWanted) return false;
      const placement = host.fit(request) ?? this.#preemptOn(host, request);
      if (placement !== null) return this.#assume(host, fill, placement);
      this.#full.add(host.id);
    }
    return false;
  }

  #preemptOn(host: GangHost, request: PlacementRequest): Placement | null {
    const placement = host.preempt(request);
    if (placement !== null) this.#withCapacity.add(host);
    return placement;
  }

  /** A placement beside an earlier member, without another victim. */
  #fitBeside(fill: Fill, request: PlacementRequest): boolean {
    for (const host of this.#withCapacity) {
      const placement = this.#isAllowedOn(host, request) ? host.fit(request) : null;
      if (placement === null) this.#withCapacity.delete(host);
      else return this.#assume(host, fill, placement);
    }
    return false;
  }

  #nextUntried(request: PlacementRequest): GangHost | null {
    const host = this.#untried.find((one) => this.#isAllowedOn(one, request));
    if (host === undefined) return null;
    this.#untried = this.#untried.filter((one) => one !== host);
    return host;
  }

  /** Do the rules still let a member onto this host? */
  #isAllowedOn({ id }: GangHost, request: PlacementRequest): boolean {
    return mayPreemptOn(this.#term.cell.state, request, id, this.#rules(NO_HOSTS));
  }

  #rules(passed: ExcludedHosts): PreemptionRules {
    return { excluded: passed, held: this.#held };
  }

  /**
   * The first of the hosts chosen for the member that says what runs there. Members after it need hosts too: as many more are
   * chosen, best first, and asked at the same time.
   * @returns null: there is none, or too many were asked, or the gang is no longer wanted
   */
  async #ask(request: PlacementRequest, missing: number): Promise<GangHost | null> {
    const { clock } = this.#term.world;
    const untilMs = Math.min(this.#state.untilMs, clock.monotonicMs() + UNANSWERED_MAX_MS);
    for (;;) {
      const known = this.#askMore(request, missing);
      if (known !== null) return known;
      if (this.#queries.open === 0) return null;
      await this.#queries.next(untilMs);
      this.#slice.restart();
      if (!this.isWanted) return null;
      const host = this.#nextUntried(request);
      if (host !== null) return host;
      this.#state.isUnanswered = clock.monotonicMs() >= untilMs;
      if (this.#state.isUnanswered) return null;
    }
  }

  /** Asks as many hosts as members need, within bounds. @returns a host asked before that may take more members */
  #askMore(request: PlacementRequest, missing: number): GangHost | null {
    // While other hosts are still to answer, silent ones need not be asked.
    const isLastResort = this.#upcoming === 0;
    for (let drawn = 0; this.#queries.free > 0 && this.#upcoming < missing && this.#hostsLeft > 0; drawn++) {
      const id = this.#nextHost(request, isLastResort);
      const known = id === undefined ? undefined : this.#hosts.get(id);
      if (known !== undefined && drawn === 0) return known;
      if (id === undefined || known !== undefined) break;
      this.#hostsLeft -= 1;
      this.#parts.busyHosts.add(id);
      const host = new GangHost(this.#term, id, this.#fitting.get(id) ?? 0);
      this.#hosts.set(id, host);
      this.#queries.ask(id, (running) => this.#answered(host, running));
    }
    return null;
  }

  /** The best host for the member: as the last resort, a silent one. */
  #nextHost(request: PlacementRequest, isLastResort: boolean): string | undefined {
    const { cell, hostCalls, world } = this.#term;
    const isSilent = (host: string): boolean => !this.#hosts.has(host) && hostCalls.isSilent(host);
    return silentLast(isSilent, isLastResort, (isPassed) => {
      const rules = this.#rules(this.#passed(isPassed));
      return preemptionHosts(cell.state, request, world.random, { ...rules, most: 1 })[0];
    });
  }

  /** Hosts for the next members: not tried yet, or expected to answer soon. */
  get #upcoming(): number {
    return this.#untried.length + this.#queries.onTime;
  }

  #answered(host: GangHost, running: readonly AllocationReport[] | null): void {
    if (running === null) {
      // It does not count as tried: nothing is known of it.
      this.#full.add(host.id);
      return;
    }
    host.offer(running.filter(({ id }) => !this.#state.stopping.has(id)));
    this.#untried = [...this.#untried, host];
  }

  /** Hosts that are full, busy with another preemption, or still to answer. No set is built: a large gang has thousands, and asks often. */
  #passed(isPassed: (host: string) => boolean): ExcludedHosts {
    const { busyHosts } = this.#parts;
    const full = this.#full;
    const isBusy = (host: string): boolean =>
      !this.#hosts.has(host) && (busyHosts.has(host) || isKeptHost(this.#term, host));
    return {
      // Silent hosts are in no set, so there is no size.
      size: Number.POSITIVE_INFINITY,
      has: (host) => full.has(host) || this.#queries.isAsked(host) || isBusy(host) || isPassed(host),
    };
  }

  #assume(host: GangHost, fill: Fill, placement: Placement): true {
    const made = { planId: this.#id, id: newId(this.#term.world), placement, evicts: [] };
    const entry = this.#parts.placer.assume(this.#job, this.#group, fill, made);
    host.entries.push(entry);
    this.#entries.push(entry);
    this.#held.add(this.#knownHost(entry));
    return true;
  }

  /**
   * The chosen victims, as the store has them; null: some are stopping already, or the gang is no longer wanted.
   * @throws StoreError
   */
  async evictions(): Promise<readonly Eviction[] | null> {
    for (const host of this.#hosts.values()) {
      host.spareSurplus();
      if (!(await this.#continues())) return null;
    }
    const chosen = [...this.#hosts.values()].flatMap(({ victims }) => victims);
    const read = await this.#parts.victims.read(chosen, `${CAUSES.evicted} ${this.#job.key}`);
    const evictions: Eviction[] = [];
    let all = true;
    for (const { id } of chosen) {
      const eviction = read.get(id);
      if (eviction?.victim.desired === 'run') evictions.push(eviction);
      else {
        this.#state.stopping.add(id);
        all = false;
      }
    }
    return all ? evictions : null;
  }

  /** During the search other members may have ended: all are placed together or none (I6). */
  isWhole(): boolean {
    if (!this.isWanted || !this.#isApart()) return false;
    return this.#parts.fillsOf(this.#job).every((fill) => fill.group !== this.#group.name);
  }

  /** Does `distinct` still allow every chosen host, beside members that came into the group meanwhile? */
  #isApart(): boolean {
    if (this.#group.distinct.length === 0) return true;
    const { placer } = this.#parts;
    const { state } = this.#term.cell;
    const held = new DistinctCount(state, this.#group, placer.heldForDistinct(this.#job, this.#group));
    const request = placer.memberRequest(this.#job, this.#group);
    const selection = state.selections.for(request);
    return this.#entries.every((entry) => {
      const host = this.#knownHost(entry);
      held.remove(host);
      const isAllowed = held.allows(host, selection);
      held.add(host);
      return isAllowed;
    });
  }

  #knownHost(entry: Entry): KnownHost {
    return (entry.host ??= this.#term.cell.state.known(entry.allocation.host));
  }

  plan(evictions: readonly Eviction[]): PreemptionPlan {
    this.#queries.end();
    const hosts: string[] = [];
    for (const { id, victims, entries } of this.#hosts.values()) {
      const evicts = victims.map((victim) => victim.id);
      for (const entry of entries) entry.allocation = withEvicts(entry.allocation, evicts);
      if (entries.length > 0) hosts.push(id);
      else this.#parts.busyHosts.delete(id);
    }
    return { id: this.#id, entries: this.#entries, evictions, hosts, atomicity: 'all-or-nothing' };
  }

  undo(): void {
    this.#queries.end();
    for (const id of this.#hosts.keys()) this.#parts.busyHosts.delete(id);
    for (const entry of this.#entries) {
      this.#term.cell.state.forget(entry.allocation);
      this.#term.capacityFreed(entry.allocation.host, entry.allocation.shared);
      this.#term.dropEntry(this.#job, entry);
    }
  }
}

/** Each member on a host waits for all victims there. */
function withEvicts(allocation: Entry['allocation'], evicts: readonly string[]): Entry['allocation'] {
  if (evicts.length > 0) return { ...allocation, evicts };
  const { evicts: _evicts, ...plain } = allocation;
  return plain;
}
