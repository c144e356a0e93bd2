import { CapacityTree } from './capacity-tree.ts';
import type { Chance } from './chance.ts';

/** Where the hosts of a search come from: a tree, or a list so short that looking at each is cheapest. */
export type Source = CapacityTree | readonly number[];

/** What a search asks of its decision. */
export interface Judge {
  readonly need: Float64Array;
  /** May the host of the stratum, whose row shows enough, become a candidate? Then it is one. */
  accepts(host: number, stratum: number): boolean;
  /** Does the row of a host that was not found by a tree show enough? */
  shows(host: number): boolean;
  /** What the host is worth, apart from what all hosts of its stratum share. */
  worth(host: number): number;
}

/**
 * The candidates of one stratum: fitting hosts with their scores, drawn in random order from a random start. `fill`
 * draws more; when a whole lap brings none, the stratum is dry, and stays so, as hosts only fill up during a decision.
 */
export class Candidates {
  readonly hosts: number[] = [];
  readonly scores: number[] = [];
  dry = false;
  readonly #source: Source;
  readonly #judge: Judge;
  readonly #stratum: number;
  readonly #size: number;
  #cursor: number;

  constructor(source: Source, stratum: number, judge: Judge, chance: Chance) {
    this.#source = source;
    this.#stratum = stratum;
    this.#judge = judge;
    this.#size = source instanceof CapacityTree ? source.size : source.length;
    this.#cursor = this.#size > 1 ? chance.below(this.#size) : 0;
  }

  fill(count: number): void {
    while (!this.dry && this.hosts.length < count) {
      const host = this.#next();
      if (host < 0) this.dry = true;
      else {
        this.hosts.push(host);
        this.scores.push(this.#judge.worth(host));
      }
    }
  }

  /** The place of the best candidate in `hosts`; −1 when there is none. */
  best(): number {
    let best = -1;
    let bestScore = -Infinity;
    const { scores } = this;
    for (let i = 0; i < scores.length; i++) {
      const score = scores[i]!;
      if (score > bestScore) {
        best = i;
        bestScore = score;
      }
    }
    return best;
  }

  keepOnly(holds: (host: number) => boolean): void {
    for (let place = this.hosts.length - 1; place >= 0; place--)
      if (!holds(this.hosts[place]!)) this.drop(place);
  }

  rescore(): void {
    for (let i = 0; i < this.hosts.length; i++) this.scores[i] = this.#judge.worth(this.hosts[i]!);
  }

  drop(place: number): void {
    const host = this.hosts.pop();
    const score = this.scores.pop();
    if (host === undefined || score === undefined || place === this.hosts.length) return;
    this.hosts[place] = host;
    this.scores[place] = score;
  }

  #next(): number {
    return this.#source instanceof CapacityTree
      ? this.#nextOfTree(this.#source)
      : this.#nextOfList(this.#source);
  }

  #nextOfTree(tree: CapacityTree): number {
    const start = this.#cursor;
    let position = start;
    let wrapped = false;
    for (;;) {
      position = tree.seek(position, this.#judge.need);
      if (position < 0 && !wrapped) {
        wrapped = true;
        position = 0;
        continue;
      }
      if (position < 0 || (wrapped && position >= start)) return -1;
      const host = tree.hostAt(position);
      position += 1;
      if (!this.#judge.accepts(host, this.#stratum)) continue;
      this.#cursor = position;
      return host;
    }
  }

  #nextOfList(list: readonly number[]): number {
    for (let step = 0; step < this.#size; step++) {
      const place = (this.#cursor + step) % this.#size;
      const host = list[place]!;
      if (!this.#judge.shows(host) || !this.#judge.accepts(host, this.#stratum)) continue;
      this.#cursor = (place + 1) % this.#size;
      return host;
    }
    return -1;
  }
}
