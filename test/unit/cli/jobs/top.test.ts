import { expect, test } from 'vitest';
import { top } from '../../../../cli/jobs/top.ts';
import type { AllocationStatus } from '../../../../src/wire/api/monitor-api.ts';
import type { AllocationUsage, CellUsage } from '../../../../src/wire/api/usage-api.ts';
import { NO_RESTARTS } from '../../../../src/core/slots/restarts.ts';
import { allocationOf } from '../../../support/monitor-world.ts';
import { FakeHttp, fakeContext } from '../fakes.ts';

const A = 'http://a';
const MIB = 1024 * 1024;

function row(id: string, index: number): AllocationStatus {
  const allocation = allocationOf('h1', id, { index });
  return {
    name: `web[${String(index)}]`,
    allocation,
    report: null,
    asOfMs: 1,
    stale: false,
    restarts: NO_RESTARTS,
  };
}

function use(id: string, cpuMs: number | null): AllocationUsage {
  return { id, cpuMs, memoryBytes: cpuMs === null ? null : 16 * MIB, pids: cpuMs === null ? null : 3 };
}

/** Two looks, whatever the clock says: the host's own times count. */
function cellWith(looks: readonly CellUsage[], allocations: readonly AllocationStatus[]): FakeHttp {
  let seen = 0;
  return new FakeHttp({
    [A]: (_call, path) => {
      if (path.startsWith('/v1/usage')) return { body: looks[seen++] };
      return { body: { allocations, incomplete: false } };
    },
  });
}

test('S3.8 shows what is used beside what was requested, the busiest first', async () => {
  const looks = [0, 2_000].map((atMs): CellUsage => {
    const allocations = [use('a1', 500 + atMs / 20), use('a2', 100 + atMs / 4), use('a3', null)];
    return { hosts: [{ host: 'h1', atMs: 7_000 + atMs, allocations }], unreachable: [] };
  });
  const { context, terminal } = fakeContext(cellWith(looks, [row('a1', 0), row('a2', 1), row('a3', 2)]), [A]);
  expect(await top(context, undefined, { all: false })).toBe(0);
  const lines = terminal.stdout.split('\n').map((line) => line.trimEnd().split(/ {2,}/));
  expect(lines.slice(1, 4)).toEqual([
    ['web[1]', 'h1', '0.25/0.1 250%', '16Mi/64Mi 25%', '3'],
    ['web[0]', 'h1', '0.05/0.1 50%', '16Mi/64Mi 25%', '3'],
    ['web[2]', 'h1', '?/0.1', '?/64Mi', '?'],
  ]);
});

test('S3.8 a task that was started again between two looks has no rate, and a host that is silent is named', async () => {
  const looks = [900, 5].map((cpuMs, n): CellUsage => {
    const hosts = [{ host: 'h1', atMs: 1_000 * n, allocations: [use('a1', cpuMs)] }];
    return { hosts, unreachable: n === 0 ? [] : ['h2'] };
  });
  const { context, terminal } = fakeContext(cellWith(looks, [row('a1', 0)]), [A]);
  await top({ ...context, output: 'json' }, undefined, { all: true });
  const answer = JSON.parse(terminal.stdout) as { allocations: unknown };
  expect(answer).toMatchObject({
    allocations: [{ name: 'web[0]', cpuMilliUsed: null, memoryMibUsed: 16 }],
    unreachable: ['h2'],
  });
  expect(terminal.stderr).toContain('h2: does not say what it uses');
});
