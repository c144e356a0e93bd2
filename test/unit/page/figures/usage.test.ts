import { expect, it } from 'vitest';
import { usedNow } from '../../../../page/figures/usage.ts';
import type { CellUsage } from '../../../../src/wire/api/usage-api.ts';

const look = (
  atMs: number,
  cpuMs: readonly (number | null)[],
  memoryBytes: number | null = null,
): CellUsage => ({
  hosts: [
    {
      ...{ host: 'h1', atMs },
      allocations: cpuMs.map((ms, n) => ({ id: `a${String(n)}`, cpuMs: ms, memoryBytes, pids: null })),
    },
  ],
  unreachable: [],
});

it('28 what is used is the time between two looks, by the clock of each host', () => {
  expect(usedNow(look(1_000, [100, 50]), look(3_000, [1_100, 1_050], 2 ** 20))).toEqual({
    ...{ cpuMilli: 1_000, memoryMib: 2 },
  });
});

it('28 the first look tells memory alone, and so does a host that does not measure', () => {
  expect(usedNow(null, look(1_000, [100], 2 ** 21))).toEqual({ cpuMilli: null, memoryMib: 2 });
  expect(usedNow(look(1_000, [null]), look(2_000, [null]))).toEqual({ cpuMilli: null, memoryMib: 0 });
});

it('28 what came, or was started again, between the looks makes nothing negative', () => {
  expect(usedNow(look(1_000, [900]), look(2_000, [10, 400])).cpuMilli).toBeNull();
  expect(usedNow(look(1_000, [900, 0]), look(2_000, [10, 400])).cpuMilli).toBe(400);
  expect(usedNow(look(2_000, [1]), look(2_000, [2])).cpuMilli).toBeNull();
});
