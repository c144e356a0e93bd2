import type { Source } from './candidates.ts';
import { Candidates } from './candidates.ts';
import type { CellIndex } from './cell-index.ts';
import type { CellState } from './cell-state.ts';
import type { Chance } from './chance.ts';
import type { GroupCount } from './group-count.ts';
import type { HostJudge } from './host-judge.ts';
import type { PlacementPolicy } from './placement-request.ts';
import { WEIGHT_FULL } from './scores.ts';
import type { Selection, Stratum } from './selection.ts';

/** A stratum that is rarer than one host in so many gets a tree of its own; else the tree of all finds it quickly. */
const RARE = 8;
/** Of many strata that are wished for alike, the sample is drawn from so many: each one more has its own tree to visit. */
const LEVEL_STRATA = 8;

/** Where there is one stratum, nothing is divided. */
const NO_WISHES = new Float64Array(1);
const ONE_SEEN = new Int32Array(1);

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
  readonly #judge: HostJudge;
  readonly #chance: Chance;
  readonly #sample: number;
  readonly #named: readonly number[] | null;
  /** The most that a host can be worth beside its stratum's wish; Infinity where that has no bound. */
  readonly #worthMax: number;
  /** Does a host gain by being picked, so that it may stay a candidate? */
  readonly #keeps: boolean;
  readonly #candidates: (Candidates | undefined)[] = [];
  readonly #wishes: Float64Array;
  #best: Found | null = null;
  #bestScore = -Infinity;
  /** Candidates compared for the place at hand: of all strata, and of each. */
  #drawn = 0;
  readonly #seen: Int32Array;

  constructor(
    state: CellState,
    selection: Selection,
    group: GroupCount,
    judge: HostJudge,
    chance: Chance,
    policy: PlacementPolicy,
  ) {
    this.#index = state.index;
    this.#selection = selection;
    this.#group = group;
    this.#judge = judge;
    this.#chance = chance;
    this.#sample = Math.max(1, policy.sample);
    const { hostsNamed, hostAffinities, strata } = selection;
    this.#named = hostsNamed?.map((id) => state.indexOf(id)).filter((index) => index >= 0) ?? null;
    let most = group.companyCost < 0 ? Infinity : 1;
    for (const { weight } of hostAffinities) most += Math.max(0, weight / WEIGHT_FULL);
    this.#worthMax = most;
    // Where strata are mixed a pick changes what its neighbours are worth: the same few would take one after the other.
    this.#keeps = group.companyCost <= 0 && policy.score !== 'spread' && !selection.mixed;
    const many = strata.length > 1;
    this.#wishes = many ? new Float64Array(strata.length) : NO_WISHES;
    this.#seen = many ? new Int32Array(strata.length) : ONE_SEEN;
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
    this.#weigh();
    this.#drawn = 0;
    this.#seen.fill(0);
    for (let level = this.#highest(Infinity); level > -Infinity; level = this.#highest(level)) {
      if (this.#best !== null && level + this.#worthMax <= this.#bestScore) break;
      if (this.#best !== null && this.#drawn >= this.#sample) break;
      this.#lookAtLevel(level);
    }
    return this.#best;
  }

  /** The candidate was taken once: it stays one if that is still the best for the rest, or makes room for another. */
  picked({ candidates, place }: Found): void {
    const host = candidates.hosts[place]!;
    if (!this.#judge.stillFits(host)) {
      candidates.drop(place);
      return;
    }
    // A host that is worth less after each pick must not keep the others of the sample out.
    if (this.#keeps || candidates.dry) candidates.setScore(place, this.#judge.worthNow(host));
    else candidates.rest(place);
  }

  #weigh(): void {
    for (const [number, stratum] of this.#selection.strata.entries())
      this.#wishes[number] = this.#isOver(number) ? -Infinity : this.#group.wish(stratum.classes[0] ?? -1);
  }

  /** Asked only of strata that are looked at: of a thousand pools a few give the whole sample. */
  #hasRoom(stratum: number): boolean {
    const { strata, mixed } = this.#selection;
    return mixed || this.#group.hasRoom(strata[stratum]?.classes[0] ?? -1);
  }

  #isOver(stratum: number): boolean {
    const candidates = this.#candidates[stratum];
    return candidates !== undefined && candidates.dry && candidates.hosts.length === 0;
  }

  #highest(below: number): number {
    let highest = -Infinity;
    for (const wish of this.#wishes) if (wish > highest && wish < below) highest = wish;
    return highest;
  }

  /** Strata of one wish share the sample; what some of them cannot use goes to the others. */
  #lookAtLevel(level: number): void {
    let equals = 0;
    for (const wish of this.#wishes) if (wish === level) equals += 1;
    const share = Math.max(1, Math.ceil(this.#sample / Math.min(equals, LEVEL_STRATA)));
    this.#lookAround(level, share);
    if (equals > 1 && this.#drawn < this.#sample) this.#lookAround(level, share + this.#sample - this.#drawn);
  }

  #lookAround(level: number, share: number): void {
    const wishes = this.#wishes;
    const start = this.#chance.below(wishes.length);
    for (let step = 0; step < wishes.length; step++) {
      const number = (start + step) % wishes.length;
      if (wishes[number] !== level) continue;
      if (this.#best !== null && this.#drawn >= this.#sample) return;
      if (this.#hasRoom(number)) this.#look(number, level, share);
    }
  }

  #look(number: number, wish: number, share: number): void {
    const candidates = (this.#candidates[number] ??= this.#open(number));
    if (this.#group.forbidsValues) candidates.keepOnly((host) => this.#group.allows(host));
    if (this.#selection.mixed) candidates.rescore();
    candidates.fill(share);
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
    return new Candidates(this.#sourceOf(stratum), number, this.#judge, this.#chance);
  }

  #sourceOf({ key, classes, hosts, list }: Stratum): Source {
    if (this.#named !== null) return this.#named;
    if (list !== null) return list;
    const { all } = this.#index;
    if (hosts * RARE > all.size) return all;
    return this.#index.partOf(key, classes);
  }
}
