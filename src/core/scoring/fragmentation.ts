import { deviceFits } from '../fit/gpu-choice.ts';
import type { FreeDevices, Kept } from './model-demand.ts';
import { ModelDemand, NOTHING_KEPT } from './model-demand.ts';
import type { GpuRequest, GpuShare } from '../cell/resources.ts';
import { GPU_MILLI_PER_DEVICE } from '../cell/resources.ts';

/** One kind of task that is expected, and how common it is. */
export interface MixEntry {
  readonly cpuMilli: number;
  readonly gpu: GpuRequest | null;
  /** How often it comes, in any unit. */
  readonly weight: number;
}

export type TaskMix = readonly MixEntry[];

/** What fragmentation asks of a host. */
export interface GpuHost {
  readonly cpuMilli: number;
  readonly models: readonly string[];
  /** Thousandths in use by device. */
  readonly usedMilli: readonly number[];
}

/** Entries of the mix with the same GPU request. */
interface Kind {
  readonly gpu: GpuRequest;
  /** Their millicores, ascending, and the share of all tasks that ask for at most each. */
  readonly cpuMilli: readonly number[];
  readonly shareUpTo: readonly number[];
  readonly share: number;
}

/**
 * Fragmentation after "Beware of Fragmentation" (Weng et al., USENIX ATC 2023): the mean of the free GPU thousandths of a
 * host that a task drawn from the mix could not use: all of them when the task does not fit, else those of the devices
 * that are too small for it.
 */
export class Fragmentation {
  readonly #kinds: readonly Kind[];
  /** Share of the tasks without GPUs: no free device is of use to them. */
  readonly #withoutGpu: number;
  readonly #demand: ModelDemand;

  constructor(mix: TaskMix) {
    const total = mix.reduce((sum, { weight }) => sum + weight, 0);
    const byGpu = new Map<string, { readonly gpu: GpuRequest; readonly entries: MixEntry[] }>();
    let withoutGpu = 0;
    for (const entry of mix) {
      const { gpu } = entry;
      if (gpu === null || gpu.count === 0) {
        withoutGpu += entry.weight / total;
        continue;
      }
      const key = `${String(gpu.count)} ${String(gpu.milliEach)} ${gpu.models.join()}`;
      const kind = byGpu.get(key) ?? { gpu, entries: [] };
      kind.entries.push(entry);
      byGpu.set(key, kind);
    }
    this.#withoutGpu = withoutGpu;
    this.#demand = new ModelDemand(mix);
    this.#kinds = [...byGpu.values()].map(({ gpu, entries }) => kindOf(gpu, entries, total));
  }

  /** Free thousandths of the host that the mix cannot use. */
  amount(cpuMilli: number, usedMilli: readonly number[], models: readonly string[]): number {
    let free = 0;
    for (const used of usedMilli) free += Math.max(0, GPU_MILLI_PER_DEVICE - used);
    if (free === 0) return 0;
    let lost = this.#withoutGpu * free;
    for (const kind of this.#kinds) {
      let fitting = 0;
      let tooSmall = free;
      for (let device = 0; device < models.length; device++) {
        if (!deviceFits(models, usedMilli, kind.gpu, device)) continue;
        fitting += 1;
        tooSmall -= GPU_MILLI_PER_DEVICE - (usedMilli[device] ?? 0);
      }
      const taken = fitting >= kind.gpu.count ? shareUpTo(kind, cpuMilli) : 0;
      lost += taken * tooSmall + (kind.share - taken) * free;
    }
    return lost;
  }

  /** How much of each model is kept from the task for tasks of the mix that name the model. */
  keptFrom(gpu: GpuRequest | null, free: FreeDevices): Kept {
    return this.#demand.keptFrom(gpu, free);
  }

  /**
   * The devices for a task that lose least, and the loss: the growth of the host's fragmentation plus what is kept for
   * other tasks. Null: none fit.
   */
  leastLoss(
    host: GpuHost,
    cpuMilli: number,
    gpu: GpuRequest | null,
    kept: Kept = NOTHING_KEPT,
  ): { readonly gpus: readonly GpuShare[]; readonly lossMilli: number } | null {
    const before = this.amount(host.cpuMilli, host.usedMilli, host.models);
    let best: { gpus: readonly GpuShare[]; lossMilli: number } | null = null;
    for (const gpus of choices(host, gpu)) {
      const used = [...host.usedMilli];
      let keptMilli = 0;
      for (const { device, milli } of gpus) {
        used[device] = (used[device] ?? 0) + milli;
        keptMilli += milli * (kept.get(host.models[device] ?? '') ?? 0);
      }
      const lossMilli = this.amount(host.cpuMilli - cpuMilli, used, host.models) - before + keptMilli;
      if (best === null || lossMilli < best.lossMilli) best = { gpus, lossMilli };
    }
    return best;
  }
}

/** The different ways to serve the request: equally used devices of one model are alike. */
function choices({ models, usedMilli }: GpuHost, gpu: GpuRequest | null): readonly (readonly GpuShare[])[] {
  if (gpu === null || gpu.count === 0) return [[]];
  const fitting: number[] = [];
  for (let device = 0; device < models.length; device++) {
    if (deviceFits(models, usedMilli, gpu, device)) fitting.push(device);
  }
  if (fitting.length < gpu.count) return [];
  fitting.sort((a, b) => (usedMilli[b] ?? 0) - (usedMilli[a] ?? 0) || a - b);
  const share = (device: number): GpuShare => ({ device, milli: gpu.milliEach });
  if (gpu.count > 1) return [fitting.slice(0, gpu.count).map(share)];
  const alike = (a: number, b: number | undefined): boolean =>
    b !== undefined && usedMilli[a] === usedMilli[b] && models[a] === models[b];
  return fitting.filter((device, n) => !alike(device, fitting[n - 1])).map((device) => [share(device)]);
}

function kindOf(gpu: GpuRequest, entries: MixEntry[], total: number): Kind {
  entries.sort((a, b) => a.cpuMilli - b.cpuMilli);
  let share = 0;
  const upTo = entries.map(({ weight }) => (share += weight / total));
  return { gpu, cpuMilli: entries.map(({ cpuMilli }) => cpuMilli), shareUpTo: upTo, share };
}

function shareUpTo({ cpuMilli: asked, shareUpTo: shares }: Kind, cpuMilli: number): number {
  let low = 0;
  let high = asked.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (asked[middle]! <= cpuMilli) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? 0 : shares[low - 1]!;
}

const compiled = new WeakMap<TaskMix, Fragmentation>();

/** The loss rule of a policy; null: it has none. A mix is compiled once. */
export function lossRuleOf({
  score,
  mix,
}: {
  score: string;
  mix?: TaskMix | undefined;
}): Fragmentation | null {
  if (score !== 'fgd' || mix === undefined) return null;
  let known = compiled.get(mix);
  if (known === undefined) {
    known = new Fragmentation(mix);
    compiled.set(mix, known);
  }
  return known;
}
