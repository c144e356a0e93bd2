import { CapacityTree, ROW } from '../cell-state/capacity-tree.ts';
import type { Chance } from '../random/chance.ts';

/** Where the hosts of a search come from: a tree, or a list so short that looking at each is cheapest. */
export type Source = CapacityTree | readonly number[];

/** Rows of the table, or those of a tree. */
export type Rows = Float64Array | Int32Array;

/** What a search asks of its decision. */
export interface Judge {
  readonly need: Float64Array;
  /** What is free now, a row a host. */
  readonly rows: Float64Array;
  /** May the host of the stratum, whose row shows enough, be chosen? What the group has of it may be asked later. */
  accepts(host: number, stratum: number): boolean;
  /** Does the row of a host that no tree has checked show enough? */
  shows(host: number): boolean;
  /** What the host is worth, apart from what all hosts of its stratum share; `rows` at `offset` is its row. */
  worth(host: number, rows: Rows, offset: number): number;
}

const NOBODY: readonly number[] = [];

/**
 * The candidates of one stratum: fitting hosts with their scores, drawn in random order from a random start, each once:
 * after those that are preferred, which are there from the start; first to the end of the part that the chance tells of and round to the start, then behind that part, then before it.
 * Hosts only fill up while a decision is made, so what was passed over once need not be looked at again, and after one
 * lap only those can be drawn that were candidates before and made room for others.
 */
export class Candidates {
  readonly hosts: number[] = [];
  readonly scores: number[] = [];
  /** The place of the best, as long as nobody else can have become better; −1: to be looked for. */
  #top = -1;
  readonly #source: Source;
  readonly #stratum: number;
  readonly #judge: Judge;
  /** Never drawn: they were added before, or do not fit. */
  readonly #preferred: readonly number[];
  readonly #start: number;
  readonly #first: number;
  readonly #end: number;
  readonly #size: number;
  /** Which stretch of the lap is gone through, where that has come to, and where it ends. */
  #stretch = 0;
  #cursor: number;
  #until: number;
  #lapped = false;
  /** Hosts that made room, the first at `resting`; null while there are none. */
  #rested: number[] | null = null;
  #resting = 0;

  constructor(
    source: Source,
    stratum: number,
    judge: Judge,
    chance: Chance,
    preferred: readonly number[] = NOBODY,
  ) {
    this.#source = source;
    this.#stratum = stratum;
    this.#judge = judge;
    this.#preferred = preferred;
    const size = source instanceof CapacityTree ? source.size : source.length;
    const start = size > 1 ? (chance.start?.(size) ?? chance.below(size)) : 0;
    const part = size > 1 ? (chance.part?.(size) ?? null) : null;
    const inPart = part !== null && start >= part.first && start < part.end;
    this.#size = size;
    this.#start = start;
    this.#first = inPart ? part.first : 0;
    this.#end = inPart ? part.end : size;
    this.#cursor = start;
    this.#until = this.#end;
    for (const host of preferred) this.#addIfFits(host);
  }

  /** Is every host that still fits a candidate now? */
  get dry(): boolean {
    return this.#lapped && this.#resting === (this.#rested?.length ?? 0);
  }

  /** Draws until there are so many candidates, or no more to be had. */
  fill(count: number): void {
    if (this.hosts.length >= count) return;
    if (!this.#lapped) {
      if (this.#source instanceof CapacityTree) this.#drawFromTree(this.#source, count);
      else this.#drawFromList(this.#source, count);
    }
    while (this.#lapped && this.hosts.length < count && this.#rested !== null) {
      const host = this.#rested[this.#resting];
      if (host === undefined) return;
      this.#resting += 1;
      this.#addIfFits(host);
    }
  }

  /** The place of the best candidate in `hosts`; −1 when there is none. */
  best(): number {
    if (this.#top >= 0) return this.#top;
    let best = -1;
    let bestScore = -Infinity;
    const { scores } = this;
    for (let place = 0; place < scores.length; place++) {
      const score = scores[place]!;
      if (score > bestScore) {
        best = place;
        bestScore = score;
      }
    }
    this.#top = best;
    return best;
  }

  /** The candidate is worth something else from now on. */
  setScore(place: number, score: number): void {
    if (place !== this.#top || score < this.scores[place]!) this.#top = -1;
    this.scores[place] = score;
  }

  /** Removes a candidate for good. */
  drop(place: number): void {
    this.#top = -1;
    const host = this.hosts.pop();
    const score = this.scores.pop();
    if (host === undefined || score === undefined || place === this.hosts.length) return;
    this.hosts[place] = host;
    this.scores[place] = score;
  }

  /** Removes a candidate that may be drawn again when all others have been. */
  rest(place: number): void {
    (this.#rested ??= []).push(this.hosts[place]!);
    this.drop(place);
  }

  rescore(): void {
    for (let place = 0; place < this.hosts.length; place++) {
      const host = this.hosts[place]!;
      this.setScore(place, this.#judge.worth(host, this.#judge.rows, host * ROW));
    }
  }

  keepOnly(holds: (host: number) => boolean): void {
    for (let place = this.hosts.length - 1; place >= 0; place--)
      if (!holds(this.hosts[place]!)) this.drop(place);
  }

  #drawFromTree(tree: CapacityTree, count: number): void {
    const { need } = this.#judge;
    if (!tree.mayHold(need)) this.#lapped = true;
    while (!this.#lapped && this.hosts.length < count) {
      const position = tree.seek(this.#cursor, need);
      if (position < 0 || position >= this.#until) {
        if (!this.#turn()) return;
        continue;
      }
      this.#cursor = position + 1;
      const host = tree.hostAt(position);
      if (this.#isPreferred(host)) continue;
      if (this.#judge.accepts(host, this.#stratum)) this.#add(host, tree.values, tree.offsetOf(position));
    }
  }

  #drawFromList(list: readonly number[], count: number): void {
    while (this.hosts.length < count) {
      if (this.#cursor >= this.#until && !this.#turn()) return;
      const host = list[this.#cursor]!;
      this.#cursor += 1;
      if (!this.#isPreferred(host)) this.#addIfFits(host);
    }
  }

  /** Goes on to the next stretch that has hosts. @returns false when the lap is over */
  #turn(): boolean {
    while (this.#stretch < 3) {
      this.#stretch += 1;
      if (this.#stretch === 1) this.#go(this.#first, this.#start);
      else if (this.#stretch === 2) this.#go(this.#end, this.#size);
      else this.#go(0, this.#first);
      if (this.#cursor < this.#until) return true;
    }
    this.#lapped = true;
    return false;
  }

  #go(from: number, until: number): void {
    this.#cursor = from;
    this.#until = until;
  }

  #isPreferred(host: number): boolean {
    return this.#preferred.length > 0 && this.#preferred.includes(host);
  }

  #addIfFits(host: number): void {
    if (!this.#judge.shows(host) || !this.#judge.accepts(host, this.#stratum)) return;
    this.#add(host, this.#judge.rows, host * ROW);
  }

  #add(host: number, rows: Rows, offset: number): void {
    this.#top = -1;
    this.hosts.push(host);
    this.scores.push(this.#judge.worth(host, rows, offset));
  }
}
