import { DistinctCount } from '../../src/core/preemption/distinct-count.ts';
import type { PreemptionRules, ExcludedHosts } from '../../src/core/preemption/preemption.ts';
import { preemptionHosts, mayPreemptOn } from '../../src/core/preemption/preemption.ts';
import type { KnownHost } from '../../src/core/cell-state/host-slot.ts';
import { makeId } from '../../src/core/cell/ids.ts';
import type { Group } from '../../src/core/cell/job.ts';
import type { PlacementRequest, Placement } from '../../src/core/placement/placement-request.ts';
import type { Eviction } from '../../src/core/commit/plan.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import type { Fill } from '../../src/core/slots/job-view.ts';
import { CAUSES } from '../../src/core/slots/job-view.ts';
import { Breath } from '../state/time-slice.ts';
import type { Term } from '../state/state.ts';
import type { EvictingPlan } from './preemption.ts';
import { Floor } from './gang-host.ts';
import { HostQuestions, silentLast } from './host-queries.ts';
import type { Entry, OwnedJob } from '../state/owned-job.ts';
import type { Placer } from '../decide/placer.ts';
import type { VictimReader } from './victim-reader.ts';

/** Steps of the search before others have their turn. */
const STRETCH_STEPS = 32;

/** Hosts tried for a member, before the gang waits for room to come by itself. */
const HOSTS_MAX = 4;
/** Hosts asked for each missing member, likewise. */
const HOSTS_A_MEMBER_MAX = 4;

/** How long one member waits for a host that answers: longer than any question is open. */
const UNHEARD_MAX_MS = 5_000;

const NO_HOSTS: ReadonlySet<string> = new Set();

export interface GangSearchParts {
  readonly placer: Placer;
  readonly victims: VictimReader;
  /** Hosts on which this scheduler makes somebody give way; the gang's are among them until its plan has ended. */
  readonly under: Set<string>;
  /** An operator has paused eviction. */
  readonly isPaused: () => boolean;
  /** What the job wants now. */
  readonly fillsOf: (job: OwnedJob) => readonly Fill[];
}

export interface GangSearchTerms {
  /** Those that the store did not show as running. */
  readonly leaving: Set<string>;
  /** By the monotonic clock. */
  readonly untilMs: number;
  /** A member has waited for too long for a host that answers. */
  isUnheard: boolean;
}

/** One try to make room for a gang in memory, from the first member to the last. */
export class GangSearch {
  readonly #term: Term;
  readonly #parts: GangSearchParts;
  readonly #job: OwnedJob;
  readonly #group: Group;
  readonly #terms: GangSearchTerms;
  readonly #id: string;
  readonly #record: unknown;
  readonly #givenUp: number;
  readonly #breath: Breath;
  readonly #entries: Entry[] = [];
  /** Members on each host that fit there as it is. */
  readonly #fitting = new Map<string, number>();
  readonly #floors = new Map<string, Floor>();
  /** Those that may have room for one more without anybody more to go. */
  readonly #withRest = new Set<Floor>();
  /** Those that have answered, and were not tried yet. */
  #untried: readonly Floor[] = [];
  /** Hosts that have no room for one more, whoever goes. */
  readonly #full = new Set<string>();
  /** Hosts that the group has, with those chosen here, as far as `distinct` keeps them apart. */
  readonly #held: DistinctCount;
  readonly #questions: HostQuestions;
  #hostsLeft = 0;

  constructor(term: Term, parts: GangSearchParts, job: OwnedJob, group: Group, terms: GangSearchTerms) {
    this.#term = term;
    this.#parts = parts;
    this.#job = job;
    this.#group = group;
    this.#terms = terms;
    this.#record = job.record;
    this.#givenUp = job.givenUp;
    const { clock, random } = term.world;
    this.#id = makeId(Math.floor(clock.nowMs()), random.bytes(16));
    this.#breath = new Breath(clock, term.signal, STRETCH_STEPS);
    this.#questions = new HostQuestions({ clock, log: term.world.log, victims: parts.victims });
    this.#held = new DistinctCount(term.cell.state, group, parts.placer.heldForDistinct(job, group));
  }

  /** Whether anybody still wants it, after others were asked, and there is time left. */
  get isWanted(): boolean {
    const { dropped, stale, finishing, record, givenUp } = this.#job;
    if (this.#term.signal.aborted || dropped || stale || finishing) return false;
    // Some members have waited for as long as they may, and have their outcomes.
    if (givenUp !== this.#givenUp) return false;
    if (this.#term.world.clock.monotonicMs() >= this.#terms.untilMs) return false;
    return record === this.#record && !this.#parts.isPaused();
  }

  /** @returns false: there is no place for all of them, or nobody wants one any more */
  async placeAll(fills: readonly Fill[]): Promise<boolean> {
    const { placer } = this.#parts;
    this.#entries.push(...placer.place(this.#job, this.#group, fills, this.#id));
    for (const entry of this.#entries) {
      const { host } = entry.allocation;
      this.#fitting.set(host, (this.#fitting.get(host) ?? 0) + 1);
      this.#held.add(this.#hostOf(entry));
    }
    const placed = new Set(this.#entries.map(({ allocation }) => allocation.index));
    const missing = fills.filter(({ index }) => !placed.has(index));
    this.#hostsLeft = HOSTS_A_MEMBER_MAX * missing.length;
    for (const [at, fill] of missing.entries()) {
      if (!(await this.#makeRoom(fill, missing.length - at)) || !(await this.#mayGoOn())) return false;
    }
    return true;
  }

  /** After each step: others have their turn now and then, and may end or change the job in it. */
  async #mayGoOn(): Promise<boolean> {
    if (!this.#breath.step()) return true;
    await this.#breath.take();
    return this.isWanted;
  }

  async #makeRoom(fill: Fill, missing: number): Promise<boolean> {
    const request = this.#parts.placer.memberRequest(this.#job, this.#group, fill);
    if (this.#takeRest(fill, request)) return true;
    for (let tries = 0; tries < HOSTS_MAX; tries++) {
      const floor = this.#nextUntried(request) ?? (await this.#ask(request, missing));
      if (floor === null || !this.isWanted) return false;
      const placement = floor.rest(request) ?? this.#clear(floor, request);
      if (placement !== null) return this.#assume(floor, fill, placement);
      this.#full.add(floor.host);
    }
    return false;
  }

  #clear(floor: Floor, request: PlacementRequest): Placement | null {
    const placement = floor.clear(request);
    if (placement !== null) this.#withRest.add(floor);
    return placement;
  }

  /** A place beside an earlier member, for which nobody more has to go. */
  #takeRest(fill: Fill, request: PlacementRequest): boolean {
    for (const floor of this.#withRest) {
      const placement = this.#isAllowedOn(floor, request) ? floor.rest(request) : null;
      if (placement === null) this.#withRest.delete(floor);
      else return this.#assume(floor, fill, placement);
    }
    return false;
  }

  #nextUntried(request: PlacementRequest): Floor | null {
    const floor = this.#untried.find((one) => this.#isAllowedOn(one, request));
    if (floor === undefined) return null;
    this.#untried = this.#untried.filter((one) => one !== floor);
    return floor;
  }

  /** Do the rules still let a member onto this host? */
  #isAllowedOn({ host }: Floor, request: PlacementRequest): boolean {
    return mayPreemptOn(this.#term.cell.state, request, host, this.#rules(NO_HOSTS));
  }

  #rules(passed: ExcludedHosts): PreemptionRules {
    return { excluded: passed, held: this.#held };
  }

  /**
   * The first of the hosts drawn for the member that says what runs on it. Members after it need theirs too: as many more
   * are drawn, best first, and asked at the same time.
   * @returns null: there is none, or too many were asked, or nobody wants it any more
   */
  async #ask(request: PlacementRequest, missing: number): Promise<Floor | null> {
    const { clock } = this.#term.world;
    const untilMs = Math.min(this.#terms.untilMs, clock.monotonicMs() + UNHEARD_MAX_MS);
    for (;;) {
      const known = this.#draw(request, missing);
      if (known !== null) return known;
      if (this.#questions.open === 0) return null;
      await this.#questions.next(untilMs);
      this.#breath.begin();
      if (!this.isWanted) return null;
      const floor = this.#nextUntried(request);
      if (floor !== null) return floor;
      this.#terms.isUnheard = clock.monotonicMs() >= untilMs;
      if (this.#terms.isUnheard) return null;
    }
  }

  /** Asks as many hosts as members need and may be asked at once. @returns one asked before: more may have to go there */
  #draw(request: PlacementRequest, missing: number): Floor | null {
    // While others are still to answer, nobody need wait for those.
    const isLastResort = this.#toCome === 0;
    for (let drawn = 0; this.#questions.room > 0 && this.#toCome < missing && this.#hostsLeft > 0; drawn++) {
      const host = this.#drawOne(request, isLastResort);
      const known = host === undefined ? undefined : this.#floors.get(host);
      if (known !== undefined && drawn === 0) return known;
      if (host === undefined || known !== undefined) break;
      this.#hostsLeft -= 1;
      this.#parts.under.add(host);
      const floor = new Floor(this.#term, host, this.#fitting.get(host) ?? 0);
      this.#floors.set(host, floor);
      this.#questions.ask(host, (running) => this.#answered(floor, running));
    }
    return null;
  }

  /** The best host that is drawn: as the last resort, one that does not answer when there is no other. */
  #drawOne(request: PlacementRequest, isLastResort: boolean): string | undefined {
    const { cell, hostCalls, world } = this.#term;
    const isSilent = (host: string): boolean => !this.#floors.has(host) && hostCalls.isSilent(host);
    return silentLast(isSilent, isLastResort, (isPassed) => {
      const rules = this.#rules(this.#passed(isPassed));
      return preemptionHosts(cell.state, request, world.random, { ...rules, most: 1 })[0];
    });
  }

  /** Floors for the next members: those that were not tried, and those that are to answer soon. */
  get #toCome(): number {
    return this.#untried.length + this.#questions.onTime;
  }

  #answered(floor: Floor, running: readonly AllocationReport[] | null): void {
    if (running === null) {
      // No try for anybody: nothing is known of it.
      this.#full.add(floor.host);
      return;
    }
    floor.offer(running.filter(({ id }) => !this.#terms.leaving.has(id)));
    this.#untried = [...this.#untried, floor];
  }

  /** Hosts without room, those of others, those still to answer. Not counted out: a large gang has thousands, and asks often. */
  #passed(isPassed: (host: string) => boolean): ExcludedHosts {
    const { under } = this.#parts;
    const full = this.#full;
    const isOthers = (host: string): boolean => under.has(host) && !this.#floors.has(host);
    return {
      // Whoever is silent is in no set.
      size: Number.POSITIVE_INFINITY,
      has: (host) => full.has(host) || this.#questions.isAsked(host) || isOthers(host) || isPassed(host),
    };
  }

  #assume(floor: Floor, fill: Fill, placement: Placement): true {
    const made = { planId: this.#id, placement, evicts: [] };
    const entry = this.#parts.placer.assume(this.#job, this.#group, fill, made);
    floor.entries.push(entry);
    this.#entries.push(entry);
    this.#held.add(this.#hostOf(entry));
    return true;
  }

  /**
   * Who gives way, as the store has them; null: some of them do so already, or nobody wants it any more.
   * @throws StoreError
   */
  async evictions(): Promise<readonly Eviction[] | null> {
    for (const floor of this.#floors.values()) {
      floor.spareNeedless();
      if (!(await this.#mayGoOn())) return null;
    }
    const chosen = [...this.#floors.values()].flatMap(({ victims }) => victims);
    const read = await this.#parts.victims.read(chosen, `${CAUSES.evicted} ${this.#job.key}`);
    const evictions: Eviction[] = [];
    let all = true;
    for (const { id } of chosen) {
      const eviction = read.get(id);
      if (eviction?.victim.desired === 'run') evictions.push(eviction);
      else {
        this.#terms.leaving.add(id);
        all = false;
      }
    }
    return all ? evictions : null;
  }

  /** While room was made for some, others may have ended: all are placed together or none (I6). */
  isWhole(): boolean {
    if (!this.isWanted || !this.#isApart()) return false;
    return this.#parts.fillsOf(this.#job).every((fill) => fill.group !== this.#group.name);
  }

  /** Whoever else came into the group meanwhile, `distinct` still lets every member be where it is. */
  #isApart(): boolean {
    if (this.#group.distinct.length === 0) return true;
    const { placer } = this.#parts;
    const { state } = this.#term.cell;
    const held = new DistinctCount(state, this.#group, placer.heldForDistinct(this.#job, this.#group));
    const request = placer.memberRequest(this.#job, this.#group);
    const selection = state.selections.for(request);
    return this.#entries.every((entry) => {
      const host = this.#hostOf(entry);
      held.remove(host);
      const isAllowed = held.allows(host, selection);
      held.add(host);
      return isAllowed;
    });
  }

  #hostOf(entry: Entry): KnownHost {
    return (entry.host ??= this.#term.cell.state.known(entry.allocation.host));
  }

  plan(evictions: readonly Eviction[]): EvictingPlan {
    this.#questions.end();
    const hosts: string[] = [];
    for (const { host, victims, entries } of this.#floors.values()) {
      const evicts = victims.map(({ id }) => id);
      for (const entry of entries) entry.allocation = withEvicts(entry.allocation, evicts);
      if (entries.length > 0) hosts.push(host);
      else this.#parts.under.delete(host);
    }
    return { id: this.#id, entries: this.#entries, evictions, hosts, atomicity: 'all-or-nothing' };
  }

  takeBack(): void {
    this.#questions.end();
    for (const host of this.#floors.keys()) this.#parts.under.delete(host);
    for (const entry of this.#entries) {
      this.#term.cell.state.forget(entry.allocation);
      this.#term.room(entry.allocation.host, entry.allocation.shared);
      this.#term.dropEntry(this.#job, entry);
    }
  }
}

/** Each member on a host waits for all who give way there. */
function withEvicts(allocation: Entry['allocation'], evicts: readonly string[]): Entry['allocation'] {
  if (evicts.length > 0) return { ...allocation, evicts };
  const { evicts: _evicts, ...plain } = allocation;
  return plain;
}
