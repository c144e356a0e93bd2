import { expect, test } from 'vitest';
import { ps } from '../../../../cli/jobs/ps.ts';
import { status } from '../../../../cli/jobs/status.ts';
import type { AllocationStatus } from '../../../../src/wire/api/monitor-api.ts';
import { NO_RESTARTS } from '../../../../src/core/slots/restarts.ts';
import { allocationOf } from '../../../support/monitor-world.ts';
import { reportOf } from '../../../support/reporting-host.ts';
import { FakeHttp, fakeContext } from '../fakes.ts';

const A = 'http://a';

/** One that has ports and addresses of its host, and one that its host has not spoken of. */
const lent = allocationOf('h1', 'a1', { index: 0, ports: { http: 20_000, admin: 20_001 } });
const silent = allocationOf('h2', 'a2', { index: 1 });
const LOOPING = { count: 4, most: 4, waiting: 1, lastAtMs: null, lastExit: { code: 3 } };
const ROWS: readonly AllocationStatus[] = [
  {
    ...{ name: 'web[0]', allocation: lent, asOfMs: 1, stale: false },
    report: reportOf('h1', 'a1', { addresses: ['127.64.0.1', '127.64.0.2'] }),
    restarts: LOOPING,
  },
  { name: 'web[1]', allocation: silent, report: null, asOfMs: null, stale: true, restarts: NO_RESTARTS },
];
const SUMMARY = {
  ...{ namespace: 'default', name: 'web', type: 'service', precedence: 50, version: 1, desired: 'run' },
  ...{ owner: 's1', submittedAtMs: 1, oneOff: false, phase: 'running' },
  counts: { desired: 2, placed: 2, running: 1, complete: 0, failed: 0 },
  restarts: LOOPING,
};
const cell = new FakeHttp({
  [A]: (_call, path) =>
    path.startsWith('/v1/allocations')
      ? { body: { allocations: ROWS, incomplete: false } }
      : { body: { summary: SUMMARY, record: {}, allocations: ROWS, outcomes: [] } },
});

/** The table's cells under a title, by allocation. */
function column(stdout: string, title: string): Record<string, string | undefined> {
  const lines = stdout.split('\n').map((line) => line.trimEnd().split(/ {2,}/));
  const head = lines.findIndex((line) => line[0] === 'ALLOCATION');
  const at = (lines[head] ?? []).indexOf(title);
  const rows = lines.slice(head + 1, head + 3);
  return Object.fromEntries(rows.map((line) => [line[0] ?? '', line[at]] as const));
}

test.each([
  ['ps JOB', (context: Parameters<typeof ps>[0]) => ps(context, 'web', { all: false })],
  ['status JOB', (context: Parameters<typeof ps>[0]) => status(context, 'web')],
])('%s shows the ports and the addresses that an allocation has of its host', async (_name, command) => {
  const { context, terminal } = fakeContext(cell, [A]);
  expect(await command(context)).toBe(0);
  expect(column(terminal.stdout, 'PORTS')).toEqual({ 'web[0]': 'admin:20001,http:20000', 'web[1]': '-' });
  expect(column(terminal.stdout, 'ADDRESSES')).toEqual({ 'web[0]': '127.64.0.1,127.64.0.2', 'web[1]': '-' });
});

test('as JSON both are as the API gives them', async () => {
  const { context, terminal } = fakeContext(cell, [A], 'json');
  await ps(context, 'web', { all: false });
  expect(JSON.parse(terminal.stdout)).toMatchObject({
    allocations: [
      {
        allocation: { ports: { http: 20_000, admin: 20_001 } },
        report: { addresses: ['127.64.0.1', '127.64.0.2'] },
      },
      { report: null },
    ],
  });
});
