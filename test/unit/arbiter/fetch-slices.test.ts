import { describe, expect, it } from 'vitest';
import { FetchSlices, PROMISED_MAX_MS } from '../../../arbiter/fetch-slices.ts';
import type { SharedResource } from '../../../src/core/quota/shared-resource.ts';

const MB = 1_000_000;
const uplink: SharedResource = {
  ...{ name: 'uplink', unit: 'MB/s', by: null, rate: 'fetch' as const },
  ...{ capacity: 625, capacities: {} },
};
const perRack: SharedResource = {
  ...uplink,
  ...{ name: 'rack-uplink', by: 'host.rack', capacity: 125, capacities: { r2: 0 } },
};

/** An arbiter that has kept the rates for long. */
function seasoned(...resources: SharedResource[]) {
  const slices = new FetchSlices();
  slices.next({}, [uplink], { fence: 7, nowMs: 0 });
  const sinceMs = 2 * PROMISED_MAX_MS;
  return (rack: string, atMs = 0) => slices.next({ rack }, resources, { fence: 7, nowMs: sinceMs + atMs });
}

describe('the rate at which the hosts of a cell fetch', () => {
  it('S3.35 1,000 hosts that ask for all they want get 5 Gbps together', () => {
    const next = seasoned(uplink);
    let bytes = 0;
    const free = Array.from({ length: 1_000 }, () => 0);
    for (let atMs = 0; atMs < 10_000; atMs += 1)
      for (const [host, freeMs] of free.entries()) {
        if (freeMs > atMs) continue;
        const slice = next('r1', atMs);
        const beginsMs = atMs + slice.afterMs;
        free[host] = beginsMs + 1;
        if (beginsMs < 10_000) bytes += slice.bytes;
      }
    const ideal = 625 * MB * 10;
    expect(bytes).toBeLessThanOrEqual(ideal + 8 * MB);
    expect(bytes).toBeGreaterThanOrEqual(ideal * 0.95);
  });

  it('S3.36 the slowest of the pools that a host is in gives the pace, and each rack has its own', () => {
    const next = seasoned(uplink, perRack);
    const inRack = (rack: string) => [1, 2, 3].map(() => next(rack).afterMs);
    expect(inRack('r1')).toEqual([0, 5, 10]);
    expect(inRack('r3')[0]).toBeLessThan(5);
  });

  it('S3.35 a pool of rate 0 gives nothing, and says when to ask again', () => {
    expect(seasoned(perRack)('r2')).toEqual({ bytes: 0, afterMs: 1_000 });
  });

  it('S3.35 nothing limits a host that is in no pool', () => {
    expect(seasoned(perRack)('')).toMatchObject({ afterMs: 0 });
    const slots: SharedResource = { name: 'slots', unit: '', by: null, capacity: 0, capacities: {} };
    expect(seasoned(slots)('r1')).toMatchObject({ afterMs: 0 });
  });

  it('S3.35 nothing is promised further ahead than a new keeper waits', () => {
    const next = seasoned(perRack);
    const answers = Array.from({ length: 3_000 }, () => next('r1'));
    expect(Math.max(...answers.map(({ afterMs }) => afterMs))).toBeLessThanOrEqual(PROMISED_MAX_MS + 5);
    expect(answers.at(-1)).toEqual({ bytes: 0, afterMs: 1_000 });
  });

  it('S3.35 a new keeper gives nothing before the promises of the one before are used up', () => {
    const slices = new FetchSlices();
    const at = (nowMs: number, fence: number) => slices.next({}, [uplink], { fence, nowMs }).afterMs;
    at(0, 1);
    expect(at(50_000, 1)).toBe(0);
    expect(at(50_000, 2)).toBe(PROMISED_MAX_MS);
    expect(at(90_000, 2)).toBe(0);
  });
});
