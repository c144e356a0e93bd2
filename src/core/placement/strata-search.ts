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
import { SearchParts } from './search-parts.ts';

/** A stratum with less than one host in so many gets a tree of its own; the tree of all hosts finds others quickly. */
const RARE = 8;
/** Beside neighbours, where most hosts may be closed, one with less than one host in so many gets its own. */
const RARE_APART = 2;
/** The sample of a level is drawn from at most so many parts: each one more is another tree to visit. */
const LEVEL_PARTS = 4;

/** More parts than this are kept in `PreferenceLevels`, from the second place on. */
const WEIGHED_MAX = 64;

/** For a single part. Lists, since short typed arrays cost more to make than to use. */
const ONE_PREFERENCE: number[] = [0];
const ONE_SEEN: number[] = [0];

const NO_HOSTS: readonly number[] = [];
const NOTHING_WANTED: readonly string[] = [];
/** Hosts of the wanted classes are a list while they are so few; a tree finds more of them. */
const WANTED_LISTED_MAX = 64;

/** A candidate and its position. */
export interface Found {
  readonly candidates: Candidates;
  readonly place: number;
}

/**
 * Searches the best host, part by part (`SearchParts`): where no neighbours are wanted, each is a stratum. The sample is
 * divided among the parts of the highest preference; those of lower preference are searched only while their best possible
 * load could still win, or nothing was found.
 */
export class StrataSearch {
  readonly #index: CellIndex;
  readonly #selection: Selection;
  readonly #parts: SearchParts;
  readonly #group: GroupCount;
  readonly #scorer: HostScorer;
  readonly #chance: Chance;
  readonly #sample: number;
  readonly #named: readonly number[] | null;
  /** Hosts that no sample may leave out, and the parts that they may be in. */
  readonly #preferred: readonly number[];
  readonly #preferredIn: readonly number[];
  /** The highest score of a host without its part's preference; Infinity: no bound. */
  readonly #scoreMax: number;
  /** Does a picked host stay a candidate? Its score grows with each pick. */
  readonly #keeps: boolean;
  readonly #candidates: (Candidates | undefined)[] = [];
  readonly #preferences: number[];
  /** As `SearchParts.findEmpty` found them, less those that a picked host has come into. */
  readonly #empty: Uint8Array | null;
  #best: Found | null = null;
  #bestScore = -Infinity;
  /** Candidates compared for the current place: of all parts, and by part. */
  #drawn = 0;
  readonly #seen: number[];
  /** The parts with a count in `#seen`. */
  readonly #searched: number[] = [];
  /** Null: all parts are scored for each place. */
  #levels: PreferenceLevels | null = null;
  /** Exhausted parts. */
  readonly #spent: number[] = [];
  /** The parts of the current level. */
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
    const parts = new SearchParts(selection, state.index, group);
    this.#parts = parts;
    const { hostsNamed, hostsPreferred, hostAffinities } = selection;
    const indicesOf = (ids: readonly string[]): readonly number[] =>
      ids.map((id) => state.indexOf(id)).filter((index) => index >= 0);
    this.#named = hostsNamed === null ? null : indicesOf(hostsNamed);
    this.#preferred = hostsPreferred.length === 0 ? NO_HOSTS : [...new Set(indicesOf(hostsPreferred))];
    this.#preferredIn = this.#preferred.length === 0 ? NO_HOSTS : this.#partsOf(this.#preferred);
    // In merged strata the score has what is preferred.
    let most = group.sameHostCost < 0 || selection.mixed ? Infinity : 1;
    for (const { weight } of hostAffinities) most += Math.max(0, weight / WEIGHT_FULL);
    this.#scoreMax = most;
    // In merged strata a pick changes the scores of its neighbours: the same few hosts would take one after the other.
    this.#keeps = group.sameHostCost <= 0 && policy.score !== 'spread' && !selection.mixed;
    const many = parts.count > 1;
    this.#preferences = many ? new Array<number>(parts.count).fill(0) : ONE_PREFERENCE;
    this.#seen = many ? new Array<number>(parts.count).fill(0) : ONE_SEEN;
    this.#empty = many ? parts.findEmpty() : null;
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
    if (this.#parts.count === 0) return null;
    if (this.#parts.count === 1) {
      if (this.#isOver(0) || !this.#hasRoom(0)) return null;
      this.#searchPart(0, 0, this.#sample);
      return this.#best;
    }
    this.#drawn = 0;
    for (const part of this.#searched) this.#seen[part] = 0;
    this.#searched.length = 0;
    for (const part of this.#preferredIn)
      if (!this.#isOver(part) && this.#hasRoom(part)) this.#searchPart(part, this.#parts.preference(part), 0);
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
      const { preference, parts } = levels.at(number);
      if (this.#isDecided(preference)) break;
      this.#searchLevel(preference, parts);
    }
    for (const part of this.#spent) levels.remove(part);
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
    if (this.#parts.each > 1 && this.#hasMoved(host, candidates)) {
      candidates.drop(place);
      this.#admit(host);
      return;
    }
    // A host whose score falls with each pick must not keep other hosts out of the sample.
    if (this.#keeps || candidates.dry) candidates.setScore(place, this.#scorer.scoreNow(host));
    else candidates.rest(place);
  }

  /** Is the host in another part since it was picked, being now of a class that the group is drawn to? */
  #hasMoved(host: number, { company }: Candidates): boolean {
    return this.#group.near!.companyOn(host) !== company;
  }

  #admit(host: number): void {
    const part = this.#parts.partOf(host);
    if (this.#empty !== null) this.#empty[part] = 0;
    // One that is opened later finds the host itself.
    this.#candidates[part]?.admit(host);
    this.#levels?.restore(part);
  }

  /** Updates the levels after a pick. */
  #follow(host: number): void {
    if (this.#parts.count <= WEIGHED_MAX) return;
    if (this.#levels !== null) {
      this.#levels.picked(this.#index.classes.classOf[host] ?? -1);
      return;
    }
    this.#levels = new PreferenceLevels(this.#selection, this.#group, this.#parts);
    for (let part = 0; part < this.#parts.count; part++) if (this.#isEmpty(part)) this.#levels.remove(part);
  }

  #weigh(): void {
    for (let part = 0; part < this.#preferences.length; part++) {
      const isOut = this.#isEmpty(part) || this.#isOver(part);
      this.#preferences[part] = isOut ? -Infinity : this.#parts.preference(part);
    }
  }

  #isEmpty(part: number): boolean {
    return this.#empty !== null && this.#empty[part] === 1;
  }

  #partsOf(hosts: readonly number[]): readonly number[] {
    return [...new Set(hosts.map((host) => this.#parts.partOf(host)))].filter((part) => part >= 0);
  }

  /** Tested only for parts that are searched: of a thousand pools a few give the whole sample. */
  #hasRoom(part: number): boolean {
    return this.#selection.mixed || this.#group.hasCapacity(this.#parts.classIn(part));
  }

  #isOver(part: number): boolean {
    const candidates = this.#candidates[part];
    return candidates !== undefined && candidates.dry && candidates.hosts.length === 0;
  }

  /** Collects the parts with the highest preference below `below`. @returns that preference; -Infinity: none */
  #gather(below: number): number {
    const preferences = this.#preferences;
    let highest = -Infinity;
    let count = 0;
    for (let part = 0; part < preferences.length; part++) {
      const preference = preferences[part]!;
      if (preference < highest || preference >= below) continue;
      if (preference > highest) {
        highest = preference;
        count = 0;
      }
      this.#alike[count] = part;
      count += 1;
    }
    this.#alike.length = count;
    return highest;
  }

  /** Parts of one level share the sample; what some cannot fill goes to the others. */
  #searchLevel(level: number, parts: readonly number[]): void {
    const share = Math.max(1, Math.ceil(this.#sample / Math.min(parts.length, LEVEL_PARTS)));
    this.#searchParts(level, parts, share);
    if (parts.length > 1 && this.#drawn < this.#sample)
      this.#searchParts(level, parts, share + this.#sample - this.#drawn);
  }

  #searchParts(level: number, parts: readonly number[], share: number): void {
    const start = this.#chance.below(parts.length);
    for (let step = 0; step < parts.length; step++) {
      const number = parts[(start + step) % parts.length]!;
      if (this.#best !== null && this.#drawn >= this.#sample) return;
      const hasRoom = this.#hasRoom(number);
      if (hasRoom) this.#searchPart(number, level, share);
      // Capacity of pools and hosts only shrinks while places are chosen.
      if (this.#levels !== null && (!hasRoom || this.#isOver(number))) this.#spent.push(number);
    }
  }

  #searchPart(number: number, preference: number, share: number): void {
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
    const [stratum, company] = [this.#parts.stratumOf(number), this.#parts.companyOf(number)];
    const hosts = this.#selection.strata[stratum];
    if (hosts === undefined) throw new Error(`no stratum ${String(stratum)}`);
    const source = this.#sourceOf(hosts, company);
    return new Candidates(source, { stratum, company }, this.#scorer, this.#chance, this.#preferred);
  }

  #sourceOf({ key, classes, hosts, list }: Stratum, company: number): Source {
    if (this.#named !== null) return this.#named;
    const near = company === 0 ? null : this.#group.near;
    const wanted = near?.sizeOf(company) ?? Infinity;
    if (list !== null && list.length <= wanted) return list;
    if (near !== null && wanted <= WANTED_LISTED_MAX) return near.hostsWith(company);
    const { size } = this.#index;
    const { opposed } = this.#scorer;
    if (opposed.length > 0 || near !== null) {
      const part = hosts * RARE_APART > size ? null : { key, classes };
      const rule = { opposed, wanted: near?.scalarsOf(company) ?? NOTHING_WANTED };
      const apart = this.#index.neighbours.treeFor(rule, part);
      if (apart !== null) return { apart, isOfStratum: part !== null || this.#selection.all };
    }
    if (near !== null) return near.hostsWith(company);
    // The trees of all that has something free are brought up to date by who uses them.
    return hosts * RARE > size ? this.#index.all : this.#index.partOf(key, classes);
  }
}
