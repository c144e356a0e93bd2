import { evictionHosts } from '../src/core/eviction-hosts.ts';
import { makeId } from '../src/core/ids.ts';
import type { Group } from '../src/core/job.ts';
import { fitShortfall, holdsUse, withoutUse } from '../src/core/ledger.ts';
import type { Ledger } from '../src/core/ledger.ts';
import type { PlacementRequest } from '../src/core/placement-request.ts';
import type { Placement } from '../src/core/placement.ts';
import type { Eviction } from '../src/core/plan.ts';
import { NO_PORTS } from '../src/core/port-choice.ts';
import type { AllocationReport } from '../src/core/report.ts';
import type { Fill } from '../src/core/slot-view.ts';
import { CAUSES } from '../src/core/slot-view.ts';
import { chooseVictims, placeOn } from '../src/core/victims.ts';
import type { Term } from './context.ts';
import type { EvictingPlan } from './evictor.ts';
import type { Entry, OwnedJob } from './owned-job.ts';
import type { Placer } from './placer.ts';
import type { VictimReader } from './victim-reader.ts';

/** Hosts drawn for a member, the best of which takes it. */
const HOSTS_MAX = 4;
/** Hosts asked for each missing member, before the gang waits for room to come by itself. */
const HOSTS_A_MEMBER_MAX = 4;
/** Choices for the whole gang, when some of the chosen turn out to be leaving already. */
const CHOICES_MAX = 3;
/** More allocations than these are no eviction, but an emptying of the host; a start order names at most 256. */
const EVICTS_MAX = 128;

export interface GangRoomParts {
  readonly placer: Placer;
  readonly victims: VictimReader;
  /** Hosts on which this scheduler makes somebody give way; the gang's are among them until its plan has ended. */
  readonly under: Set<string>;
  /** An operator has paused eviction. */
  readonly isPaused: () => boolean;
  /** What the job wants now. */
  readonly fillsOf: (job: OwnedJob) => readonly Fill[];
}

/** One host that members of the gang go to in others' place. */
interface Floor {
  readonly host: string;
  /** What could still be chosen. */
  readonly running: AllocationReport[];
  victims: AllocationReport[];
  readonly entries: Entry[];
  /** There may be room for one more of the gang without anybody more to go. */
  hasRest: boolean;
}

const NO_HOSTS: ReadonlySet<string> = new Set();

/**
 * Makes room for all members of a gang or for none: places and victims of all of them are chosen in memory first. Members
 * that fit go where they fit; the others share hosts with as few victims as will do. Nobody has given way until the plan
 * lands: in the gang's one transaction, or, when it goes by intent, under that, so that it can be taken back.
 */
export class GangRoom {
  readonly #term: Term;
  readonly #parts: GangRoomParts;

  constructor(term: Term, parts: GangRoomParts) {
    this.#term = term;
    this.#parts = parts;
  }

  /**
   * @param fills all that are missing of the group
   * @returns the members, assumed in memory, their hosts under `under`; null: there is no room for all of them, or no longer
   *   a wish for it
   * @throws StoreError
   */
  async find(job: OwnedJob, group: Group, fills: readonly Fill[]): Promise<EvictingPlan | null> {
    const leaving = new Set<string>();
    for (let choices = 0; choices < CHOICES_MAX; choices++) {
      const search = new Search(this.#term, this.#parts, job, group, leaving);
      let plan: EvictingPlan | null = null;
      try {
        if (!(await search.placeAll(fills))) return null;
        const evictions = await search.evictions();
        if (evictions !== null && search.isWhole()) return (plan = search.plan(evictions));
      } finally {
        if (plan === null) search.takeBack();
      }
      if (!search.isWanted) return null;
    }
    return null;
  }
}

/** One try, from the first member to the last. */
class Search {
  readonly #term: Term;
  readonly #parts: GangRoomParts;
  readonly #job: OwnedJob;
  readonly #group: Group;
  /** Those that the store did not show as running. */
  readonly #leaving: Set<string>;
  readonly #id: string;
  readonly #record: unknown;
  readonly #entries: Entry[] = [];
  readonly #floors = new Map<string, Floor>();
  /** Hosts that have no room for one more, whoever goes. */
  readonly #full = new Set<string>();
  #hostsLeft = 0;

  constructor(term: Term, parts: GangRoomParts, job: OwnedJob, group: Group, leaving: Set<string>) {
    this.#term = term;
    this.#parts = parts;
    this.#job = job;
    this.#group = group;
    this.#leaving = leaving;
    this.#record = job.record;
    const { clock, random } = term.world;
    this.#id = makeId(Math.floor(clock.nowMs()), random.bytes(16));
  }

  /** Whether anybody still wants it, after others were asked. */
  get isWanted(): boolean {
    const { dropped, stale, finishing, record } = this.#job;
    if (this.#term.signal.aborted || dropped || stale || finishing) return false;
    return record === this.#record && !this.#parts.isPaused();
  }

  /** @returns false: there is no place for all of them */
  async placeAll(fills: readonly Fill[]): Promise<boolean> {
    const { placer } = this.#parts;
    this.#entries.push(...placer.place(this.#job, this.#group, fills, this.#id));
    const placed = new Set(this.#entries.map(({ allocation }) => allocation.index));
    const missing = fills.filter(({ index }) => !placed.has(index));
    this.#hostsLeft = HOSTS_A_MEMBER_MAX * missing.length;
    for (const fill of missing) if (!(await this.#makeRoom(fill))) return false;
    return true;
  }

  async #makeRoom(fill: Fill): Promise<boolean> {
    if (this.#takeRest(fill)) return true;
    const request = this.#parts.placer.request(this.#job, this.#group, 1, fill);
    for (const host of this.#hostsFor(request)) {
      const floor = await this.#floorOn(host);
      if (!this.isWanted) return false;
      if (floor === null) continue;
      if (this.#takePlace(floor, fill, request)) return true;
      this.#full.add(host);
    }
    return false;
  }

  /** A place beside an earlier member, for which nobody more has to go. */
  #takeRest(fill: Fill): boolean {
    const { cell, options, world } = this.#term;
    for (const floor of this.#floors.values()) {
      if (!floor.hasRest) continue;
      const request = this.#parts.placer.request(this.#job, this.#group, 1, { ...fill, host: floor.host });
      const limit = { most: 1, passed: NO_HOSTS };
      const isAllowed = evictionHosts(cell.state, request, world.random, options.placement, limit).length > 0;
      const placement = isAllowed ? this.#restOn(floor, request) : null;
      if (placement === null) floor.hasRest = false;
      else return this.#assume(floor, fill, placement);
    }
    return false;
  }

  #restOn(floor: Floor, request: PlacementRequest): Placement | null {
    const host = this.#term.cell.state.hostOf(floor.host);
    const ledger = this.#ledgerOf(floor);
    if (host === undefined || ledger === null || !this.#isOneTransaction(floor, 0)) return null;
    return placeOn(host, ledger, request, this.#term.world.random);
  }

  #hostsFor(request: PlacementRequest): readonly string[] {
    const { cell, options, world } = this.#term;
    const passed = new Set(this.#full);
    for (const host of this.#parts.under) if (!this.#floors.has(host)) passed.add(host);
    return evictionHosts(cell.state, request, world.random, options.placement, { most: HOSTS_MAX, passed });
  }

  /** What runs on the host, asked once; null: too many were asked. */
  async #floorOn(host: string): Promise<Floor | null> {
    const known = this.#floors.get(host);
    if (known !== undefined) return known;
    if (this.#parts.under.has(host) || this.#hostsLeft <= 0) return null;
    this.#hostsLeft -= 1;
    this.#parts.under.add(host);
    const floor: Floor = { host, running: [], victims: [], entries: [], hasRest: false };
    this.#floors.set(host, floor);
    const running = await this.#parts.victims.runningOn(host);
    floor.running.push(...running.filter(({ id }) => !this.#leaving.has(id)));
    return floor;
  }

  /** @returns false: the host has no room for the member, whoever goes */
  #takePlace(floor: Floor, fill: Fill, request: PlacementRequest): boolean {
    const { cell, world } = this.#term;
    const rest = this.#restOn(floor, request);
    if (rest !== null) return this.#assume(floor, fill, rest);
    const host = cell.state.hostOf(floor.host);
    const ledger = this.#ledgerOf(floor);
    if (host === undefined || ledger === null) return false;
    const choice = chooseVictims(host, ledger, request, floor.running, world.random);
    if (choice === null || !this.#isOneTransaction(floor, choice.victims.length)) return false;
    floor.victims.push(...choice.victims);
    for (const victim of choice.victims) floor.running.splice(floor.running.indexOf(victim), 1);
    floor.hasRest = true;
    return this.#assume(floor, fill, choice.placement);
  }

  #assume(floor: Floor, fill: Fill, placement: Placement): true {
    const made = { planId: this.#id, placement, evicts: [] };
    const entry = this.#parts.placer.assume(this.#job, this.#group, fill, made);
    floor.entries.push(entry);
    this.#entries.push(entry);
    return true;
  }

  /** With what the gang has taken there in memory, and without whom it makes give way; null: what is known of it is old. */
  #ledgerOf({ host, victims }: Floor): Ledger | null {
    let ledger = this.#term.cell.state.ledgerOf(host);
    for (const victim of victims) {
      if (!holdsUse(ledger, victim)) return null;
      ledger = withoutUse(ledger, victim);
    }
    return ledger;
  }

  /** Members and victims of one host come, and go back, together. */
  #isOneTransaction({ entries, victims }: Floor, more: number): boolean {
    const { operationsMax } = this.#term.world.store.limits;
    const shares = Object.keys(entries[0]?.allocation.shared ?? {}).length;
    // Beside them: the ledger, the owner key, the intent; and each pool, with what an operator says of it.
    const all = entries.length + 1 + victims.length + more + 3 + 2 * shares;
    return all <= operationsMax && victims.length + more <= EVICTS_MAX;
  }

  /** Who gives way, as the store has them; null: some of them do so already. @throws StoreError */
  async evictions(): Promise<readonly Eviction[] | null> {
    for (const floor of this.#floors.values()) this.#spareNeedless(floor);
    const chosen = [...this.#floors.values()].flatMap(({ victims }) => victims);
    const read = await this.#parts.victims.read(chosen, `${CAUSES.evicted} ${this.#job.key}`);
    const evictions: Eviction[] = [];
    let all = true;
    for (const { id } of chosen) {
      const eviction = read.get(id);
      if (eviction?.victim.desired === 'run') evictions.push(eviction);
      else {
        this.#leaving.add(id);
        all = false;
      }
    }
    return all ? evictions : null;
  }

  /** Whom the choices for later members made needless: the highest precedence first. */
  #spareNeedless(floor: Floor): void {
    const host = this.#term.cell.state.hostOf(floor.host);
    if (host === undefined) return;
    for (const victim of [...floor.victims].sort((a, b) => b.precedence - a.precedence)) {
      const ledger = this.#ledgerOf(floor);
      if (ledger === null || fitShortfall(host, ledger, { ...victim, ports: NO_PORTS }) !== null) continue;
      floor.victims = floor.victims.filter((other) => other !== victim);
    }
  }

  /** While room was made for some, others may have ended: all are placed together or none (I6). */
  isWhole(): boolean {
    if (!this.isWanted) return false;
    return this.#parts.fillsOf(this.#job).every((fill) => fill.group !== this.#group.name);
  }

  plan(evictions: readonly Eviction[]): EvictingPlan {
    for (const { host, victims, entries } of this.#floors.values()) {
      const evicts = victims.map(({ id }) => id);
      for (const entry of entries) entry.allocation = withEvicts(entry.allocation, evicts);
      if (entries.length === 0) this.#parts.under.delete(host);
    }
    return { id: this.#id, entries: this.#entries, evictions, atomicity: 'all-or-nothing' };
  }

  takeBack(): void {
    for (const host of this.#floors.keys()) this.#parts.under.delete(host);
    for (const entry of this.#entries) {
      this.#term.cell.state.forget(entry.allocation.id);
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
