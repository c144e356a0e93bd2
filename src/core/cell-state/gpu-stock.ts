import type { HostSlot } from './host-slot.ts';
import { takesWork } from './host-slot.ts';
import type { FreeDevices } from '../scoring/model-demand.ts';
import { GPU_MILLI_PER_DEVICE } from '../cell/resources.ts';

/** What one host adds to the stock, by model. */
type Part = ReadonlyMap<string, number>;

/** Free device thousandths in the cell by model, on hosts that take work. */
export class GpuStock implements FreeDevices {
  readonly #free = new Map<string, number>();
  readonly #parts = new Map<HostSlot, Part>();
  #total = 0;

  get totalMilli(): number {
    return this.#total;
  }

  freeMilli(model: string): number {
    return this.#free.get(model) ?? 0;
  }

  /** Replaces what the host adds. */
  set(slot: HostSlot): void {
    this.remove(slot);
    if (slot.gpuUsed.length === 0 || slot.host === undefined || !takesWork(slot)) return;
    const part = partOf(slot.host.gpuModels, slot.gpuUsed);
    this.#parts.set(slot, part);
    this.#count(part, 1);
  }

  remove(slot: HostSlot): void {
    const part = this.#parts.get(slot);
    if (part === undefined) return;
    this.#parts.delete(slot);
    this.#count(part, -1);
  }

  #count(part: Part, sign: 1 | -1): void {
    for (const [model, milli] of part) {
      this.#free.set(model, this.freeMilli(model) + sign * milli);
      this.#total += sign * milli;
    }
  }
}

function partOf(models: readonly string[], usedMilli: readonly number[]): Part {
  const part = new Map<string, number>();
  for (const [device, model] of models.entries()) {
    const milli = Math.max(0, GPU_MILLI_PER_DEVICE - (usedMilli[device] ?? 0));
    part.set(model, (part.get(model) ?? 0) + milli);
  }
  return part;
}
