import type { Chance } from '../../../src/core/random/chance.ts';
import type { SimJob } from '../workload/workload.ts';
import { ANY_HOST } from '../workload/workload.ts';
import type { FreeCapacity } from './free-capacity.ts';

/** Hosts whose free cpu differs by less than a so many-th of the largest are alike. */
const STEPS = 4_096;

/**
 * All hosts that fit, the fullest first: what a scheduler does that scores every host. Those that are alike stand in the
 * order that it was made with: how alike two schedulers rank hosts decides how often they conflict, so figure 12 draws several rankings
 * (`docs/omega.md`). One pass along the tables counts how many hosts have how much free, another puts
 * them in place.
 */
export class Ranking {
  readonly #groupBit: Int32Array;
  readonly #order: Int32Array;
  readonly #starts = new Int32Array(STEPS + 2);
  readonly #fitting: Int32Array;
  readonly #ranked: Int32Array;
  readonly #step: number;

  /** @param chance of the order of alike hosts; null: by number, the same for every scheduler */
  constructor(cpuMilliMost: number, groupBit: Int32Array, chance: Chance | null) {
    const hosts = groupBit.length;
    this.#groupBit = groupBit;
    this.#order = Int32Array.from({ length: hosts }, (_, host) => host);
    this.#fitting = new Int32Array(hosts);
    this.#ranked = new Int32Array(hosts);
    this.#step = Math.max(1, Math.ceil((cpuMilliMost + 1) / STEPS));
    if (chance !== null) shuffle(this.#order, chance);
  }

  /** Devices are left aside. @returns valid until the next call */
  rank({ cpuMilli: free, memoryMib }: FreeCapacity, { shape, hostGroups }: SimJob): Int32Array {
    const starts = this.#starts.fill(0);
    const step = this.#step;
    let count = 0;
    for (let at = 0; at < this.#order.length; at++) {
      const host = this.#order[at]!;
      const cpu = free[host]!;
      if (cpu < shape.cpuMilli || memoryMib[host]! < shape.memoryMib) continue;
      if (hostGroups !== ANY_HOST && (hostGroups & this.#groupBit[host]!) === 0) continue;
      this.#fitting[count++] = host;
      starts[((cpu / step) | 0) + 1]! += 1;
    }
    for (let at = 1; at < starts.length; at++) starts[at]! += starts[at - 1]!;
    for (let at = 0; at < count; at++) {
      const host = this.#fitting[at]!;
      const like = (free[host]! / step) | 0;
      this.#ranked[starts[like]!] = host;
      starts[like]! += 1;
    }
    return this.#ranked.subarray(0, count);
  }
}

function shuffle(list: Int32Array, chance: Chance): void {
  for (let at = list.length - 1; at > 0; at--) {
    const other = chance.below(at + 1);
    const one = list[at]!;
    list[at] = list[other]!;
    list[other] = one;
  }
}
