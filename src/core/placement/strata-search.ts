import type { Source } from './candidates.ts';
import { Candidates } from './candidates.ts';
import type { CellIndex } from '../cell-state/cell-index.ts';
import type { CellState } from '../cell-state/cell-state.ts';
import type { Chance } from '../random/chance.ts';
import type { GroupCount } from './group-count.ts';
import type { HostScorer } from './host-scorer.ts';
import type { PlacementPolicy } from '../scoring/policy.ts';
import { WEIGHT_FULL } from '../cell/job.ts';
import type { Selection, Stratum } from '../cell-state/selection.ts';
import { PreferenceLevels } from './preference-levels.ts';

/** A stratum that is rarer than one host in so many gets a tree of its own; else the tree of all finds it quickly. */
const RARE = 8;
/** Of many strata that are wished for alike, the sample is drawn from so many: each one more has its own tree to visit. */
const LEVEL_STRATA = 4;

/** More strata are kept in order of their wishes, once a second place is chosen. */
const WEIGHED_MAX = 64;

/** Where there is one stratum, nothing is divided. Lists: short typed arrays cost a decision more to make than to use. */
const NO_WISHES: number[] = [0];
const ONE_SEEN: number[] = [0];

const NOBODY: readonly number[] = [];

/** A candidate where it stands. */
export interface Found {
  readonly candidates: Candidates;
  readonly place: number;
}

/**
 * Looks for the best host, stratum by stratum. The sample is divided among the strata with the best wishes; the others
 * are looked at only as long as a good load there could still win, and whenever nothing was found before.
 */
export class StrataSearch {
  readonly #index: CellIndex;
  readonly #selection: Selection;
  readonly #group: GroupCount;
  readonly #judge: HostScorer;
  readonly #chance: Chance;
  readonly #sample: number;
  readonly #named: readonly number[] | null;
  /** Hosts that no sample may leave out, and the strata they are in. */
  readonly #preferred: readonly number[];
  readonly #preferredIn: readonly number[];
  /** The most that a host can be worth beside its stratum's wish; Infinity where that has no bound. */
  readonly #worthMax: number;
  /** Does a host gain by being picked, so that it may stay a candidate? */
  readonly #keeps: boolean;
  readonly #candidates: (Candidates | undefined)[] = [];
  readonly #wishes: number[];
  #best: Found | null = null;
  #bestScore = -Infinity;
  /** Candidates compared for the place at hand: of all strata, and of each of those looked at. */
  #drawn = 0;
  readonly #seen: number[];
  readonly #looked: number[] = [];
  /** Null: the strata are weighed for each place. */
  #levels: PreferenceLevels | null = null;
  /** Strata found to have nothing more to give. */
  readonly #spent: number[] = [];
  /** The strata of the level at hand, where they are weighed. */
  readonly #alike: number[] = [];

  constructor(
    state: CellState,
    selection: Selection,
    group: GroupCount,
    judge: HostScorer,
    chance: Chance,
    policy: PlacementPolicy,
  ) {
    this.#index = state.index;
    this.#selection = selection;
    this.#group = group;
    this.#judge = judge;
    this.#chance = chance;
    this.#sample = Math.max(1, policy.sample);
    const { hostsNamed, hostsPreferred, hostAffinities, strata } = selection;
    const indicesOf = (ids: readonly string[]): readonly number[] =>
      ids.map((id) => state.indexOf(id)).filter((index) => index >= 0);
    this.#named = hostsNamed === null ? null : indicesOf(hostsNamed);
    this.#preferred = hostsPreferred.length === 0 ? NOBODY : [...new Set(indicesOf(hostsPreferred))];
    this.#preferredIn = this.#preferred.length === 0 ? NOBODY : this.#strataOf(this.#preferred);
    let most = group.sameHostCost < 0 ? Infinity : 1;
    for (const { weight } of hostAffinities) most += Math.max(0, weight / WEIGHT_FULL);
    this.#worthMax = most;
    // Where strata are mixed a pick changes what its neighbours are worth: the same few would take one after the other.
    this.#keeps = group.sameHostCost <= 0 && policy.score !== 'spread' && !selection.mixed;
    const many = strata.length > 1;
    this.#wishes = many ? new Array<number>(strata.length).fill(0) : NO_WISHES;
    this.#seen = many ? new Array<number>(strata.length).fill(0) : ONE_SEEN;
  }

  /** The best of the sample, or null when no host at all fits. */
  best(): Found | null {
    for (;;) {
      const found = this.#bestCandidate();
      if (found === null || !this.#group.isTaken(found.candidates.hosts[found.place]!)) return found;
      found.candidates.drop(found.place);
    }
  }

  #bestCandidate(): Found | null {
    this.#best = null;
    this.#bestScore = -Infinity;
    if (this.#selection.strata.length === 0) return null;
    if (this.#selection.strata.length === 1) {
      if (this.#isOver(0) || !this.#hasRoom(0)) return null;
      this.#look(0, 0, this.#sample);
      return this.#best;
    }
    this.#drawn = 0;
    for (const stratum of this.#looked) this.#seen[stratum] = 0;
    this.#looked.length = 0;
    for (const stratum of this.#preferredIn)
      if (!this.#isOver(stratum) && this.#hasRoom(stratum)) this.#look(stratum, this.#wishOf(stratum), 0);
    if (this.#levels === null) this.#searchWeighed();
    else this.#searchLevels(this.#levels);
    return this.#best;
  }

  #searchWeighed(): void {
    this.#weigh();
    for (let level = this.#gather(Infinity); level > -Infinity; level = this.#gather(level)) {
      if (this.#isDecided(level)) return;
      this.#lookAtLevel(level, this.#alike);
    }
  }

  #searchLevels(levels: PreferenceLevels): void {
    for (let number = 0; number < levels.size; number++) {
      const { wish, strata } = levels.at(number);
      if (this.#isDecided(wish)) break;
      this.#lookAtLevel(wish, strata);
    }
    for (const stratum of this.#spent) levels.remove(stratum);
    this.#spent.length = 0;
  }

  /** Can no stratum with that wish have anything better, or was enough compared? */
  #isDecided(level: number): boolean {
    if (this.#best === null) return false;
    return level + this.#worthMax <= this.#bestScore || this.#drawn >= this.#sample;
  }

  /** The candidate was taken once: it stays one if that is still the best for the rest, or makes room for another. */
  picked({ candidates, place }: Found): void {
    const host = candidates.hosts[place]!;
    this.#follow(host);
    if (!this.#judge.stillFits(host)) {
      candidates.drop(place);
      return;
    }
    // A host that is worth less after each pick must not keep the others of the sample out.
    if (this.#keeps || candidates.dry) candidates.setScore(place, this.#judge.scoreNow(host));
    else candidates.rest(place);
  }

  /** Keeps the levels up to what the group has now. */
  #follow(host: number): void {
    if (this.#selection.strata.length <= WEIGHED_MAX) return;
    if (this.#levels === null) this.#levels = new PreferenceLevels(this.#selection, this.#group);
    else this.#levels.picked(this.#index.classes.classOf[host] ?? -1);
  }

  #weigh(): void {
    for (let number = 0; number < this.#wishes.length; number++)
      this.#wishes[number] = this.#isOver(number) ? -Infinity : this.#wishOf(number);
  }

  #wishOf(number: number): number {
    return this.#group.wish(this.#selection.strata[number]?.classes[0] ?? -1);
  }

  #strataOf(hosts: readonly number[]): readonly number[] {
    const { stratumOf } = this.#selection;
    const { classOf } = this.#index.classes;
    const strata = hosts.map((host) => stratumOf[classOf[host] ?? -1] ?? -1);
    return [...new Set(strata)].filter((stratum) => stratum >= 0);
  }

  /** Asked only of strata that are looked at: of a thousand pools a few give the whole sample. */
  #hasRoom(stratum: number): boolean {
    const { strata, mixed } = this.#selection;
    return mixed || this.#group.hasCapacity(strata[stratum]?.classes[0] ?? -1);
  }

  #isOver(stratum: number): boolean {
    const candidates = this.#candidates[stratum];
    return candidates !== undefined && candidates.dry && candidates.hosts.length === 0;
  }

  /** Gathers the strata with the highest wish below another one. @returns that wish; -Infinity: there are no more */
  #gather(below: number): number {
    const wishes = this.#wishes;
    let highest = -Infinity;
    let count = 0;
    for (let stratum = 0; stratum < wishes.length; stratum++) {
      const wish = wishes[stratum]!;
      if (wish < highest || wish >= below) continue;
      if (wish > highest) {
        highest = wish;
        count = 0;
      }
      this.#alike[count] = stratum;
      count += 1;
    }
    this.#alike.length = count;
    return highest;
  }

  /** Strata of one wish share the sample; what some of them cannot use goes to the others. */
  #lookAtLevel(level: number, strata: readonly number[]): void {
    const share = Math.max(1, Math.ceil(this.#sample / Math.min(strata.length, LEVEL_STRATA)));
    this.#lookAround(level, strata, share);
    if (strata.length > 1 && this.#drawn < this.#sample)
      this.#lookAround(level, strata, share + this.#sample - this.#drawn);
  }

  #lookAround(level: number, strata: readonly number[], share: number): void {
    const start = this.#chance.below(strata.length);
    for (let step = 0; step < strata.length; step++) {
      const number = strata[(start + step) % strata.length]!;
      if (this.#best !== null && this.#drawn >= this.#sample) return;
      const hasRoom = this.#hasRoom(number);
      if (hasRoom) this.#look(number, level, share);
      // Neither room in pools nor on hosts comes back while places are chosen.
      if (this.#levels !== null && (!hasRoom || this.#isOver(number))) this.#spent.push(number);
    }
  }

  #look(number: number, wish: number, share: number): void {
    const candidates = (this.#candidates[number] ??= this.#open(number));
    if (this.#group.forbidsValues) candidates.keepOnly((host) => this.#group.allows(host));
    if (this.#selection.mixed) candidates.rescore();
    candidates.fill(share);
    if (this.#seen[number] === 0) this.#looked.push(number);
    this.#drawn += candidates.hosts.length - this.#seen[number]!;
    this.#seen[number] = candidates.hosts.length;
    const place = candidates.best();
    if (place < 0) return;
    const score = wish + candidates.scores[place]!;
    if (score <= this.#bestScore) return;
    this.#bestScore = score;
    this.#best = { candidates, place };
  }

  #open(number: number): Candidates {
    const stratum = this.#selection.strata[number];
    if (stratum === undefined) throw new Error(`no stratum ${String(number)}`);
    return new Candidates(this.#sourceOf(stratum), number, this.#judge, this.#chance, this.#preferred);
  }

  #sourceOf({ key, classes, hosts, list }: Stratum): Source {
    if (this.#named !== null) return this.#named;
    if (list !== null) return list;
    const { all } = this.#index;
    if (hosts * RARE > all.size) return all;
    return this.#index.partOf(key, classes);
  }
}
