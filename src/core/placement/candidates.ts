import type { Rows } from '../cell-state/capacity-tree.ts';
import { CapacityTree, ROW } from '../cell-state/capacity-tree.ts';
import type { Chance } from '../random/chance.ts';
import type { HostScorer } from './host-scorer.ts';

/** The hosts of a search: a tree, or a list in order, so short that trying each is cheapest. */
export type Source = CapacityTree | readonly number[] | ApartTree;

/** A tree that has only the hosts whose neighbours the request may join. */
export interface ApartTree {
  readonly apart: CapacityTree;
  /** It has no hosts of other strata. */
  readonly isOfStratum: boolean;
}

const NO_HOSTS: readonly number[] = [];

/** Whose candidates: hosts of a stratum with the same company (`Neighbourhood`). */
export interface PartOfHosts {
  readonly stratum: number;
  readonly company: number;
}

/**
 * The candidates of one part of the hosts: fitting hosts with their scores, each drawn once. Preferred hosts are candidates from
 * the beginning. The others follow in table order, which is random, from a random start: to the end of the chance's part
 * and round to the start, then, while none of these is any good, through one after the other of the parts behind it in the
 * same way. So visitors of a part that its own scheduler leaves empty begin apart.
 *
 * Hosts only fill up during a decision. So a host that was passed over is not tried again, and after one lap only
 * candidates that were put aside can be drawn.
 */
export class Candidates {
  readonly hosts: number[] = [];
  readonly scores: number[] = [];
  readonly company: number;
  /** Position of the best candidate; −1: not known. */
  #top = -1;
  readonly #source: CapacityTree | readonly number[];
  readonly #isApart: boolean;
  /** The source alone decides, but for ledgers that are unread. */
  readonly #isDecided: boolean;
  readonly #stratum: number;
  readonly #scorer: HostScorer;
  /** Never drawn: already added, or they do not fit. */
  readonly #preferred: readonly number[];
  /** Came from another part. Never drawn either; null: none did. */
  #admitted: Set<number> | null = null;
  readonly #start: number;
  readonly #first: number;
  readonly #end: number;
  readonly #size: number;
  /** The part that is being searched: from its middle on, then from its beginning. */
  #from: number;
  #middle: number;
  #to: number;
  #isBack = false;
  /** The next position, and where that stretch ends. */
  #cursor: number;
  #until: number;
  #lapped = false;
  /** Candidates that were put aside, the next one at `resting`; null: none. */
  #rested: number[] | null = null;
  #resting = 0;

  constructor(
    source: Source,
    { stratum, company }: PartOfHosts,
    scorer: HostScorer,
    chance: Chance,
    preferred: readonly number[] = NO_HOSTS,
  ) {
    const hosts = 'apart' in source ? source.apart : source;
    this.#source = hosts;
    this.#isApart = hosts !== source;
    this.#isDecided = 'apart' in source && source.isOfStratum && scorer.isPlainApart;
    this.#stratum = stratum;
    this.company = company;
    this.#scorer = scorer;
    this.#preferred = preferred;
    const size = hosts instanceof CapacityTree ? hosts.size : hosts.length;
    const start = size > 1 ? (chance.start?.(size) ?? chance.below(size)) : 0;
    const part = size > 1 ? (chance.part?.(size) ?? null) : null;
    const inPart = part !== null && start >= part.first && start < part.end;
    this.#size = size;
    this.#start = start;
    this.#first = inPart ? part.first : 0;
    this.#end = inPart ? part.end : size;
    this.#from = this.#first;
    this.#middle = start;
    this.#to = this.#end;
    this.#cursor = start;
    this.#until = this.#end;
    for (const host of preferred) this.#addIfFits(host);
  }

  /** Is every host that still fits a candidate? */
  get dry(): boolean {
    return this.#lapped && this.#resting === (this.#rested?.length ?? 0);
  }

  /** Draws until there are `count` candidates or no more hosts. */
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

  /** Position of the best candidate in `hosts`; −1: there is none. */
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

  /** Puts a candidate aside; it may be drawn again after all other hosts. */
  rest(place: number): void {
    (this.#rested ??= []).push(this.hosts[place]!);
    this.drop(place);
  }

  /** A host has come into this part: by a pick, it has the company now. */
  admit(host: number): void {
    (this.#admitted ??= new Set()).add(host);
    this.#addIfFits(host);
  }

  rescore(): void {
    for (let place = 0; place < this.hosts.length; place++) {
      const host = this.hosts[place]!;
      this.setScore(place, this.#scorer.score(host, this.#scorer.rows, host * ROW));
    }
  }

  keepOnly(holds: (host: number) => boolean): void {
    for (let place = this.hosts.length - 1; place >= 0; place--)
      if (!holds(this.hosts[place]!)) this.drop(place);
  }

  #drawFromTree(tree: CapacityTree, count: number): void {
    const { need } = this.#scorer;
    if (!tree.mayHold(need)) this.#lapped = true;
    while (!this.#lapped && this.hosts.length < count) {
      const position = tree.seek(this.#cursor, need);
      if (position < 0 || position >= this.#until) {
        if (!this.#turn()) return;
        continue;
      }
      this.#cursor = position + 1;
      const host = tree.hostAt(position);
      if (this.#isKnown(host)) continue;
      if (
        (this.#isDecided && this.#scorer.isRead(host)) ||
        this.#scorer.accepts(host, this.#stratum, this.company, this.#isApart)
      )
        this.#add(host, tree.values, tree.offsetOf(position));
    }
  }

  #drawFromList(list: readonly number[], count: number): void {
    while (this.hosts.length < count) {
      if (this.#cursor >= this.#until && !this.#turn()) return;
      const host = list[this.#cursor]!;
      this.#cursor += 1;
      if (!this.#isKnown(host)) this.#addIfFits(host);
    }
  }

  /** Begins the next stretch that has hosts. @returns false when the lap is over, or goes no further for now */
  #turn(): boolean {
    do {
      if (!this.#isBack) this.#go(this.#from, this.#middle);
      else if (this.#isEnough() || !this.#enterNextPart()) return false;
      this.#isBack = !this.#isBack;
    } while (this.#cursor >= this.#until);
    return true;
  }

  /** @returns false: there is none, the lap is over */
  #enterNextPart(): boolean {
    const from = this.#to === this.#size ? 0 : this.#to;
    this.#lapped = from === this.#first;
    if (this.#lapped) return false;
    this.#from = from;
    this.#to = Math.min(from + this.#end - this.#first, from < this.#first ? this.#first : this.#size);
    this.#middle = Math.min(from + this.#start - this.#first, this.#to);
    this.#go(this.#middle, this.#to);
    return true;
  }

  /**
   * Is a part over with a candidate in it? The hosts behind are in others' parts: schedulers that compare the last hosts of
   * the cell all find the same one best. What holds copies of the group, or is avoided, is not enough.
   */
  #isEnough(): boolean {
    if (this.#end - this.#first === this.#size) return false;
    const best = this.best();
    return best >= 0 && this.scores[best]! > 0;
  }

  #go(from: number, until: number): void {
    this.#cursor = from;
    this.#until = until;
  }

  #isKnown(host: number): boolean {
    return (
      (this.#preferred.length > 0 && this.#preferred.includes(host)) || this.#admitted?.has(host) === true
    );
  }

  #addIfFits(host: number): void {
    if (!this.#scorer.shows(host) || !this.#scorer.accepts(host, this.#stratum, this.company)) return;
    this.#add(host, this.#scorer.rows, host * ROW);
  }

  #add(host: number, rows: Rows, offset: number): void {
    this.#top = -1;
    this.hosts.push(host);
    this.scores.push(this.#scorer.score(host, rows, offset));
  }
}
