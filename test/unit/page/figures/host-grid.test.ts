import { describe, expect, it } from 'vitest';
import { domainsOf, gridOf, groupsOf, squareAt, troubleOf } from '../../../../page/figures/host-grid.ts';
import { NO_RESOURCES } from '../../../../src/core/cell/resources.ts';
import type { HostStatus } from '../../../../src/wire/api/monitor-api.ts';
import { hostRecord } from '../../../support/monitor-world.ts';

const statusOf = (
  id: string,
  attributes: Record<string, string>,
  more: Partial<HostStatus> = {},
): HostStatus => ({
  host: { ...hostRecord(id, ''), attributes },
  ...{ eligibility: null, used: NO_RESOURCES, gpuUsedMilli: 0, allocations: 0, alive: true },
  ...{ asOfMs: 0, staleSinceMs: null },
  ...more,
});

describe('28 the map of hosts', () => {
  const hosts = Array.from({ length: 300 }, (_, n) =>
    statusOf(`h${String(n)}`, {
      ...{ os: 'linux', serial: String(n), batch: `b${String(n % 2)}` },
      ...(n === 7 ? {} : { rack: `r${String(n % 10)}` }),
    }),
  );

  it('groups by what tells hosts apart, failure domains first; names and what all share are no domains', () => {
    expect(domainsOf(hosts)).toEqual(['rack', 'batch']);
    expect(domainsOf([])).toEqual([]);
  });

  it('every host is in one group and has one square, which is found where it is drawn', () => {
    const groups = groupsOf(hosts, 'rack');
    expect(groups.map(({ domain }) => domain)).toContain('without one');
    const grid = gridOf(groups, 360);
    expect(new Set(grid.squares.map(({ status }) => status.host.id)).size).toBe(hosts.length);
    for (const square of grid.squares) {
      expect(square.x + grid.side).toBeLessThanOrEqual(360);
      expect(square.y + grid.side).toBeLessThanOrEqual(grid.height);
      expect(squareAt(grid, square.x + 1, square.y + 1)).toBe(square);
    }
    expect(squareAt(grid, 1, 1)).toBeNull();
  });

  it('names what keeps a host from work', () => {
    const eligibility = { state: 'draining', reason: '', by: 'x', sinceMs: 0, counter: 1 } as const;
    expect(troubleOf(statusOf('a', {}))).toBeNull();
    expect(troubleOf(statusOf('a', {}, { eligibility }))).toBe('draining');
    expect(troubleOf(statusOf('a', {}, { alive: false }))).toBe('no session');
    expect(troubleOf(statusOf('a', {}, { staleSinceMs: 1 }))).toBe('silent');
  });
});
