import type { GpuRequest, GpuShare } from '../cell/resources.ts';
import { GPU_MILLI_PER_DEVICE } from '../cell/resources.ts';

export const NO_SHARES: readonly GpuShare[] = Object.freeze([]);

/** Which fitting devices are taken first: the fullest, to keep whole devices free; the emptiest, to level the load. */
export type DeviceOrder = 'fullest' | 'emptiest';

/**
 * The devices of one host that serve the request, among equals the lowest index; null: too few fit.
 *
 * @param usedMilli thousandths in use by device index; what is absent is free
 */
export function chooseGpus(
  models: readonly string[],
  usedMilli: ArrayLike<number>,
  request: GpuRequest | null,
  order: DeviceOrder,
): readonly GpuShare[] | null {
  if (request === null || request.count === 0) return NO_SHARES;
  const fitting: number[] = [];
  for (let device = 0; device < models.length; device++) {
    if (deviceFits(models, usedMilli, request, device)) fitting.push(device);
  }
  if (fitting.length < request.count) return null;
  const used = (device: number): number => usedMilli[device] ?? 0;
  const sign = order === 'fullest' ? -1 : 1;
  fitting.sort((a, b) => sign * (used(a) - used(b)) || a - b);
  return fitting.slice(0, request.count).map((device) => ({ device, milli: request.milliEach }));
}

/** Does the device have the free share and the model that the request asks for? */
export function deviceFits(
  models: readonly string[],
  usedMilli: ArrayLike<number>,
  request: GpuRequest,
  device: number,
): boolean {
  if (request.milliEach > GPU_MILLI_PER_DEVICE - (usedMilli[device] ?? 0)) return false;
  return modelFits(request, models[device] ?? '');
}

export function modelFits(request: GpuRequest, model: string): boolean {
  return request.models.length === 0 || request.models.includes(model);
}
