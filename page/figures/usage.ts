import type { CellUsage } from '../../src/wire/api/usage-api.ts';

/** What all allocations of a cell use. */
export interface UsedNow {
  /** Between two looks; null: there was one look alone, or no host measures it. */
  readonly cpuMilli: number | null;
  readonly memoryMib: number;
}

/** @param before an earlier look; null: there was none */
export function usedNow(before: CellUsage | null, now: CellUsage): UsedNow {
  const known = new Map((before?.hosts ?? []).map((host) => [host.host, host]));
  let cpuMilli: number | null = null;
  let memoryBytes = 0;
  for (const { host, atMs, allocations } of now.hosts) {
    const last = known.get(host);
    const elapsedMs = atMs - (last?.atMs ?? atMs);
    const spentMs = new Map((last?.allocations ?? []).map(({ id, cpuMs }) => [id, cpuMs]));
    for (const { id, cpuMs, memoryBytes: bytes } of allocations) {
      memoryBytes += bytes ?? 0;
      const was = spentMs.get(id);
      // One that was started again counts from nothing.
      if (cpuMs === null || was === undefined || was === null || elapsedMs <= 0 || cpuMs < was) continue;
      cpuMilli = (cpuMilli ?? 0) + ((cpuMs - was) * 1000) / elapsedMs;
    }
  }
  return {
    cpuMilli: cpuMilli === null ? null : Math.round(cpuMilli),
    memoryMib: Math.round(memoryBytes / 1024 ** 2),
  };
}
