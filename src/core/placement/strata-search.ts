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

/** A stratum with less than one host in so many gets a tree of its own; the tree of all hosts finds others quickly. */
const RARE = 8;
/** Beside neighbours, where most hosts may be closed, one with less than one host in so many gets its own. */
const RARE_APART = 2;
/** The sample of a level is drawn from at most so many strata: each one more is another tree to visit. */
const LEVEL_STRATA = 4;

/** More strata than this are kept in `PreferenceLevels`, from the second place on. */
const WEIGHED_MAX = 64;

/** For a single stratum. Lists, since short typed arrays cost more to make than to use. */
const ONE_PREFERENCE: number[] = [0];
const ONE_SEEN: number[] = [0];

const NO_HOSTS: readonly number[] = [];

/** A candidate and its position. */
export interface Found {
  readonly candidates: Candidates;
  readonly place: number;
}

/**
 * Searches the best host, stratum by stratum. The sample is divided among the strata of the highest preference; those of
 * lower preference are searched only while their best possible load could still win, or nothing was found.
 */
export class StrataSearch {
  readonly #index: CellIndex;
  readonly #selection: Selection;
  readonly #group: GroupCount;
  readonly #scorer: HostScorer;
  readonly #chance: Chance;
  readonly #sample: number;
  readonly #named: readonly number[] | null;
  /** Hosts that no sample may leave out, and the strata they are in. */
  readonly #preferred: readonly number[];
  readonly #preferredIn: readonly number[];
  /** The highest score of a host without its stratum's preference; Infinity: no bound. */
  readonly #scoreMax: number;
  /** Does a picked host stay a candidate? Its score grows with each pick. */
  readonly #keeps: boolean;
  readonly #candidates: (Candidates | undefined)[] = [];
  readonly #preferences: number[];
  #best: Found | null = null;
  #bestScore = -Infinity;
  /** Candidates compared for the current place: of all strata, and by stratum. */
  #drawn = 0;
  readonly #seen: number[];
  /** The strata with a count in `#seen`. */
  readonly #searched: number[] = [];
  /** Null: all strata are scored for each place. */
  #levels: PreferenceLevels | null = null;
  /** Exhausted strata. */
  readonly #spent: number[] = [];
  /** The strata of the current level. */
  readonly #alike: number[] = [];

  constructor(
    state: CellState,
    selection: Selection,
    group: GroupCount,
    scorer: HostScorer,
    chance: Chance,
    policy: PlacementPolicy,
  ) {
    this.#index = state.index;
    this.#selection = selection;
    this.#group = group;
    this.#scorer = scorer;
    this.#chance = chance;
    this.#sample = Math.max(1, policy.sample);
    const { hostsNamed, hostsPreferred, hostAffinities, strata } = selection;
    const indicesOf = (ids: readonly string[]): readonly number[] =>
      ids.map((id) => state.indexOf(id)).filter((index) => index >= 0);
    this.#named = hostsNamed === null ? null : indicesOf(hostsNamed);
    this.#preferred = hostsPreferred.length === 0 ? NO_HOSTS : [...new Set(indicesOf(hostsPreferred))];
    this.#preferredIn = this.#preferred.length === 0 ? NO_HOSTS : this.#strataOf(this.#preferred);
    let most = group.sameHostCost < 0 ? Infinity : 1;
    for (const { weight } of hostAffinities) most += Math.max(0, weight / WEIGHT_FULL);
    this.#scoreMax = most;
    // In merged strata a pick changes the scores of its neighbours: the same few hosts would take one after the other.
    this.#keeps = group.sameHostCost <= 0 && policy.score !== 'spread' && !selection.mixed;
    const many = strata.length > 1;
    this.#preferences = many ? new Array<number>(strata.length).fill(0) : ONE_PREFERENCE;
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
      this.#searchStratum(0, 0, this.#sample);
      return this.#best;
    }
    this.#drawn = 0;
    for (const stratum of this.#searched) this.#seen[stratum] = 0;
    this.#searched.length = 0;
    for (const stratum of this.#preferredIn)
      if (!this.#isOver(stratum) && this.#hasRoom(stratum))
        this.#searchStratum(stratum, this.#preferenceOf(stratum), 0);
    if (this.#levels === null) this.#searchWeighed();
    else this.#searchLevels(this.#levels);
    return this.#best;
  }

  #searchWeighed(): void {
    this.#weigh();
    for (let level = this.#gather(Infinity); level > -Infinity; level = this.#gather(level)) {
      if (this.#isDecided(level)) return;
      this.#searchLevel(level, this.#alike);
    }
  }

  #searchLevels(levels: PreferenceLevels): void {
    for (let number = 0; number < levels.size; number++) {
      const { preference, strata } = levels.at(number);
      if (this.#isDecided(preference)) break;
      this.#searchLevel(preference, strata);
    }
    for (const stratum of this.#spent) levels.remove(stratum);
    this.#spent.length = 0;
  }

  /** Is no better host possible at this level, or is the sample complete? */
  #isDecided(level: number): boolean {
    if (this.#best === null) return false;
    return level + this.#scoreMax <= this.#bestScore || this.#drawn >= this.#sample;
  }

  /** The candidate was picked: it stays one, is put aside, or is dropped when it does not fit another. */
  picked({ candidates, place }: Found): void {
    const host = candidates.hosts[place]!;
    this.#follow(host);
    if (!this.#scorer.stillFits(host)) {
      candidates.drop(place);
      return;
    }
    // A host whose score falls with each pick must not keep other hosts out of the sample.
    if (this.#keeps || candidates.dry) candidates.setScore(place, this.#scorer.scoreNow(host));
    else candidates.rest(place);
  }

  /** Updates the levels after a pick. */
  #follow(host: number): void {
    if (this.#selection.strata.length <= WEIGHED_MAX) return;
    if (this.#levels === null) this.#levels = new PreferenceLevels(this.#selection, this.#group);
    else this.#levels.picked(this.#index.classes.classOf[host] ?? -1);
  }

  #weigh(): void {
    for (let number = 0; number < this.#preferences.length; number++)
      this.#preferences[number] = this.#isOver(number) ? -Infinity : this.#preferenceOf(number);
  }

  #preferenceOf(number: number): number {
    return this.#group.preference(this.#selection.strata[number]?.classes[0] ?? -1);
  }

  #strataOf(hosts: readonly number[]): readonly number[] {
    const { stratumOf } = this.#selection;
    const { classOf } = this.#index.classes;
    const strata = hosts.map((host) => stratumOf[classOf[host] ?? -1] ?? -1);
    return [...new Set(strata)].filter((stratum) => stratum >= 0);
  }

  /** Tested only for strata that are searched: of a thousand pools a few give the whole sample. */
  #hasRoom(stratum: number): boolean {
    const { strata, mixed } = this.#selection;
    return mixed || this.#group.hasCapacity(strata[stratum]?.classes[0] ?? -1);
  }

  #isOver(stratum: number): boolean {
    const candidates = this.#candidates[stratum];
    return candidates !== undefined && candidates.dry && candidates.hosts.length === 0;
  }

  /** Collects the strata with the highest preference below `below`. @returns that preference; -Infinity: none */
  #gather(below: number): number {
    const preferences = this.#preferences;
    let highest = -Infinity;
    let count = 0;
    for (let stratum = 0; stratum < preferences.length; stratum++) {
      const preference = preferences[stratum]!;
      if (preference < highest || preference >= below) continue;
      if (preference > highest) {
        highest = preference;
        count = 0;
      }
      this.#alike[count] = stratum;
      count += 1;
    }
    this.#alike.length = count;
    return highest;
  }

  /** Strata of one level share the sample; what some cannot fill goes to the others. */
  #searchLevel(level: number, strata: readonly number[]): void {
    const share = Math.max(1, Math.ceil(this.#sample / Math.min(strata.length, LEVEL_STRATA)));
    this.#searchStrata(level, strata, share);
    if (strata.length > 1 && this.#drawn < this.#sample)
      this.#searchStrata(level, strata, share + this.#sample - this.#drawn);
  }

  #searchStrata(level: number, strata: readonly number[], share: number): void {
    const start = this.#chance.below(strata.length);
    for (let step = 0; step < strata.length; step++) {
      const number = strata[(start + step) % strata.length]!;
      if (this.#best !== null && this.#drawn >= this.#sample) return;
      const hasRoom = this.#hasRoom(number);
      if (hasRoom) this.#searchStratum(number, level, share);
      // Capacity of pools and hosts only shrinks while places are chosen.
      if (this.#levels !== null && (!hasRoom || this.#isOver(number))) this.#spent.push(number);
    }
  }

  #searchStratum(number: number, preference: number, share: number): void {
    const candidates = (this.#candidates[number] ??= this.#open(number));
    if (this.#group.forbidsValues) candidates.keepOnly((host) => this.#group.allows(host));
    if (this.#selection.mixed) candidates.rescore();
    candidates.fill(share);
    if (this.#seen[number] === 0) this.#searched.push(number);
    this.#drawn += candidates.hosts.length - this.#seen[number]!;
    this.#seen[number] = candidates.hosts.length;
    const place = candidates.best();
    if (place < 0) return;
    const score = preference + candidates.scores[place]!;
    if (score <= this.#bestScore) return;
    this.#bestScore = score;
    this.#best = { candidates, place };
  }

  #open(number: number): Candidates {
    const stratum = this.#selection.strata[number];
    if (stratum === undefined) throw new Error(`no stratum ${String(number)}`);
    return new Candidates(this.#sourceOf(stratum), number, this.#scorer, this.#chance, this.#preferred);
  }

  #sourceOf({ key, classes, hosts, list }: Stratum): Source {
    if (this.#named !== null) return this.#named;
    if (list !== null) return list;
    const { all } = this.#index;
    const { opposed } = this.#scorer;
    if (opposed.length > 0) {
      const part = hosts * RARE_APART > all.size ? null : { key, classes };
      const apart = this.#index.neighbours.treeFor(opposed, part);
      if (apart !== null) return { apart };
    }
    return hosts * RARE > all.size ? all : this.#index.partOf(key, classes);
  }
}
