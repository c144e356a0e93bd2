import { modelFits } from '../fit/gpu-choice.ts';
import type { GpuRequest } from '../cell/resources.ts';

/** Device thousandths that are free in a cell. */
export interface FreeDevices {
  /** Of all models. */
  readonly totalMilli: number;
  freeMilli(model: string): number;
}

/** Which part of the free devices of a model is kept from a task, 0 (absent) to 1. */
export type Kept = ReadonlyMap<string, number>;

export const NOTHING_KEPT: Kept = new Map();

/**
 * While the demand for a model is at most this part of what is free, taking it costs nothing: the mix is a guess, and
 * the hosts of one model may have spare processors that those of another lack.
 */
const SPOKEN_FOR_FREE = 0.5;

/** The demand of tasks that name the same models. */
interface Named {
  readonly models: readonly string[];
  /** Their part of all GPU thousandths that the mix asks for. */
  readonly part: number;
}

/**
 * How much of each GPU model the tasks of a mix will need if they come until all devices are given away. Fragmentation
 * sees one host; this sees what runs short in the cell. Keeping a model for other tasks only costs score: a task that
 * fits nowhere else gets the device.
 */
export class ModelDemand {
  readonly #named: readonly Named[];

  /** @param tasks what each kind of task asks for, and how common it is in any unit */
  constructor(tasks: readonly { readonly gpu: GpuRequest | null; readonly weight: number }[]) {
    const byModels = new Map<string, { readonly models: readonly string[]; milli: number }>();
    let total = 0;
    for (const { gpu, weight } of tasks) {
      if (gpu === null) continue;
      const milli = weight * gpu.count * gpu.milliEach;
      total += milli;
      const models = [...new Set(gpu.models)].sort();
      const named = byModels.get(models.join('\n')) ?? { models, milli: 0 };
      named.milli += milli;
      byModels.set(models.join('\n'), named);
    }
    byModels.delete('');
    this.#named = [...byModels.values()].map(({ models, milli }) => ({ models, part: milli / total }));
  }

  /** What is kept from the task for those that name a model and cannot go everywhere it can. */
  keptFrom(task: GpuRequest | null, free: FreeDevices): Kept {
    if (task === null || task.count === 0 || this.#named.length === 0) return NOTHING_KEPT;
    const spokenFor = new Map<string, number>();
    for (const { models, part } of this.#named) {
      // These tasks may use every model that the task may use.
      if (task.models.length > 0 && task.models.every((model) => models.includes(model))) continue;
      const freeOfThese = models.reduce((sum, model) => sum + free.freeMilli(model), 0);
      if (freeOfThese === 0) continue;
      const ofEach = (part * free.totalMilli) / freeOfThese;
      for (const model of models)
        if (modelFits(task, model)) spokenFor.set(model, (spokenFor.get(model) ?? 0) + ofEach);
    }
    return keptOf(spokenFor);
  }
}

function keptOf(spokenFor: ReadonlyMap<string, number>): Kept {
  const kept = new Map<string, number>();
  for (const [model, part] of spokenFor)
    if (part > SPOKEN_FOR_FREE)
      kept.set(model, Math.min(1, (part - SPOKEN_FOR_FREE) / (1 - SPOKEN_FOR_FREE)));
  return kept.size === 0 ? NOTHING_KEPT : kept;
}
