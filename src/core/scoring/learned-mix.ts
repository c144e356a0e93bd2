import type { MixEntry, TaskMix } from './fragmentation.ts';
import type { PlacementPolicy } from './policy.ts';
import { keepGpusWhole } from './policy.ts';
import type { GpuRequest } from '../cell/resources.ts';

/** After so many tasks, earlier ones count half. */
const HALF_AFTER = 20_000;
/** Kinds of tasks that are counted; above this the rarest half is dropped. */
const KINDS_MAX = 256;
/** The mix is rebuilt when this part of it is new: compiling it costs. */
const FRESH_PART = 0.1;

/**
 * The expected mix of tasks, estimated from the requests that this scheduler saw, the latest weighing most. It does not
 * know what other schedulers place; a wrong mix costs packing, never a place.
 */
export class LearnedMix {
  #kinds = new Map<string, { readonly entry: Omit<MixEntry, 'weight'>; weight: number }>();
  #weight = 0;
  #fresh = 0;
  #mix: TaskMix | undefined;

  /** @param count how many such tasks were requested */
  observe(cpuMilli: number, gpu: GpuRequest | null, count: number): void {
    if (count <= 0) return;
    const key = JSON.stringify([cpuMilli, gpu === null ? null : [gpu.count, gpu.milliEach, ...gpu.models]]);
    let kind = this.#kinds.get(key);
    if (kind === undefined) this.#kinds.set(key, (kind = { entry: { cpuMilli, gpu }, weight: 0 }));
    kind.weight += count;
    this.#weight += count;
    this.#fresh += count;
    while (this.#weight > HALF_AFTER) this.#halve();
    if (this.#kinds.size > KINDS_MAX) this.#forgetRarest();
  }

  /** The same list until enough is new; undefined before the first request. */
  get mix(): TaskMix | undefined {
    if (this.#fresh > FRESH_PART * this.#weight) {
      this.#mix = [...this.#kinds.values()].map(({ entry, weight }) => ({ ...entry, weight }));
      this.#fresh = 0;
    }
    return this.#mix;
  }

  #halve(): void {
    for (const kind of this.#kinds.values()) kind.weight /= 2;
    this.#weight /= 2;
    this.#fresh /= 2;
  }

  #forgetRarest(): void {
    const byWeight = [...this.#kinds].sort(([, a], [, b]) => b.weight - a.weight);
    this.#kinds = new Map(byWeight.slice(0, KINDS_MAX / 2));
    this.#weight = 0;
    for (const { weight } of this.#kinds.values()) this.#weight += weight;
  }
}

/** `keepGpusWhole` with the mix as it is at each decision. */
export function keepGpusWholeFor(learned: LearnedMix): PlacementPolicy {
  const { name, score, sample, sameHostCost } = keepGpusWhole([]);
  return {
    ...{ name, score, sample, sameHostCost },
    get mix() {
      return learned.mix;
    },
  };
}
