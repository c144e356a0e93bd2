import type { Chance } from '../../../src/core/random/chance.ts';
import type { Host } from '../../../src/core/host/host.ts';
import type { GpuShare } from '../../../src/core/cell/resources.ts';
import type { SimJob, TaskShape } from '../workload/workload.ts';
import { ANY_HOST } from '../workload/workload.ts';
import type { FreeCapacity } from './free-capacity.ts';
import { Ranking } from './ranking.ts';
import { devicesFor, mightHold, NO_DEVICES, hasCapacity, changeCapacity } from './free-capacity.ts';

/** How hosts are chosen. */
export type PlacementRule = SampledRule | RankedRule;

/**
 * 1 is Omega's randomised first fit: any host that fits. With more, so many that fit are drawn and the fullest of them is
 * taken, as our batch scheduler does: `binpack`.
 */
export interface SampledRule {
  readonly sample: number;
}

/** Every host is scored, and the fullest that fit are taken. */
export interface RankedRule {
  /** Of hosts that are alike the first: in an order of each scheduler's own, or in one that all of them have. */
  readonly ranked: 'own' | 'common';
  /** A job's tasks go one to a host as long as there are hosts; or as many to each as fit. */
  readonly tasks: 'apart' | 'together';
}

export const RANDOM_FIRST_FIT: PlacementRule = { sample: 1 };

/** Where tasks were placed: host numbers, and devices where the job wants any. Valid until the next call. */
export interface Placed {
  readonly count: number;
  readonly hosts: Int32Array;
  readonly devices: readonly (readonly GpuShare[])[] | null;
}

/**
 * Places tasks one by one and takes their resources from what is free. A host is drawn uniformly from the pool; if the task does not
 * fit it leaves the pool; the search ends when the pool or the tasks run out.
 */
export class Placer {
  readonly #hosts: readonly Host[];
  readonly #groupBit: Int32Array;
  readonly #chance: Chance;
  readonly #rule: PlacementRule;
  readonly #ranking: Ranking | null;
  /** Every host once; the pool is the first part. Its order does not matter, so it need not be set back. */
  readonly #everyHost: Int32Array;
  readonly #someHosts: Int32Array;
  #pool: Int32Array;
  #poolSize = 0;
  #chosen = new Int32Array(64);
  #devices: (readonly GpuShare[])[] = [];

  constructor(hosts: readonly Host[], groupBit: Int32Array, rule: PlacementRule, chance: Chance) {
    this.#hosts = hosts;
    this.#groupBit = groupBit;
    this.#chance = chance;
    this.#rule = rule;
    this.#ranking = rankingOf(hosts, groupBit, rule, chance);
    this.#everyHost = Int32Array.from(hosts, (_, host) => host);
    this.#someHosts = new Int32Array(hosts.length);
    this.#pool = this.#everyHost;
  }

  /** @param among the hosts that may have capacity; all without it */
  place(free: FreeCapacity, job: SimJob, tasks: number, among?: Int32Array): Placed {
    this.#pool = among === undefined ? this.#everyHost : this.#someHosts;
    if (among !== undefined) this.#someHosts.set(among);
    this.#poolSize = among?.length ?? this.#everyHost.length;
    const { shape } = job;
    const wantsDevices = shape.gpu !== null;
    if (wantsDevices) this.#devices = [];
    let count = 0;
    if (job.gang && !mightHold(free, shape, tasks)) return { count, hosts: this.#chosen, devices: null };
    const next = this.#search(free, job);
    while (count < tasks) {
      const host = next();
      if (host < 0) break;
      const devices = wantsDevices ? devicesFor(free, host, this.#models(host), shape) : NO_DEVICES;
      if (devices === null) throw new Error(`host ${String(host)} was drawn without capacity`);
      changeCapacity(free, host, shape, devices, 1);
      if (wantsDevices) this.#devices.push(devices);
      this.#keep(count++, host);
    }
    return { count, hosts: this.#chosen, devices: wantsDevices ? this.#devices : null };
  }

  /** @returns gives the host for the next task, −1 when there is none */
  #search(free: FreeCapacity, job: SimJob): () => number {
    const rule = this.#rule;
    if ('ranked' in rule) return this.#alongRanking(free, job, rule.tasks === 'together');
    return rule.sample === 1 ? () => this.#draw(free, job) : () => this.#fullest(free, job, rule.sample);
  }

  #alongRanking(free: FreeCapacity, job: SimJob, together: boolean): () => number {
    if (this.#ranking === null) throw new Error('a ranked placement without a ranking');
    const ranked = this.#ranking.rank(free, job);
    let [at, foundThisRound] = [-1, true];
    return () => {
      if (together && at >= 0 && at < ranked.length && this.#fits(free, ranked[at]!, job)) return ranked[at]!;
      for (;;) {
        at += 1;
        if (at >= ranked.length) {
          if (!foundThisRound || together) return -1;
          [at, foundThisRound] = [0, false];
        }
        const host = ranked[at];
        if (host === undefined) return -1;
        if (!this.#fits(free, host, job)) continue;
        foundThisRound = true;
        return host;
      }
    };
  }

  /** Gives the space of a placement back. */
  undo(free: FreeCapacity, shape: TaskShape, { count, hosts, devices }: Placed): void {
    for (let i = 0; i < count; i++) changeCapacity(free, hosts[i]!, shape, devices?.[i] ?? NO_DEVICES, -1);
  }

  #draw(free: FreeCapacity, job: SimJob): number {
    const pool = this.#pool;
    while (this.#poolSize > 0) {
      const at = this.#chance.below(this.#poolSize);
      const host = pool[at]!;
      if (this.#fits(free, host, job)) return host;
      const last = --this.#poolSize;
      pool[at] = pool[last]!;
      pool[last] = host;
    }
    return -1;
  }

  #fullest(free: FreeCapacity, job: SimJob, sample: number): number {
    let best = -1;
    let bestFree = Infinity;
    for (let drawn = 0; drawn < sample; drawn++) {
      const host = this.#draw(free, job);
      if (host < 0) break;
      const cpuMilli = free.cpuMilli[host]!;
      if (cpuMilli < bestFree) {
        best = host;
        bestFree = cpuMilli;
      }
    }
    return best;
  }

  #fits(free: FreeCapacity, host: number, { shape, hostGroups }: SimJob): boolean {
    if (!hasCapacity(free, host, shape)) return false;
    if (hostGroups !== ANY_HOST && (hostGroups & this.#groupBit[host]!) === 0) return false;
    return shape.gpu === null || devicesFor(free, host, this.#models(host), shape) !== null;
  }

  #models(host: number): readonly string[] {
    return (this.#hosts[host] as Host).gpuModels;
  }

  #keep(at: number, host: number): void {
    if (at === this.#chosen.length) {
      const wider = new Int32Array(2 * at);
      wider.set(this.#chosen);
      this.#chosen = wider;
    }
    this.#chosen[at] = host;
  }
}

function rankingOf(
  hosts: readonly Host[],
  groupBit: Int32Array,
  rule: PlacementRule,
  chance: Chance,
): Ranking | null {
  if (!('ranked' in rule)) return null;
  const most = hosts.reduce((sum, { capacity }) => Math.max(sum, capacity.cpuMilli), 0);
  return new Ranking(most, groupBit, rule.ranked === 'own' ? chance : null);
}
