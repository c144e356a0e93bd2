import { expect, test } from 'vitest';
import type { SetQuotaOptions } from '../../../../cli/cell/quota.ts';
import { quotas, removeQuota, setQuota } from '../../../../cli/cell/quota.ts';
import type { QuotaStatus } from '../../../../src/wire/api/quota-api.ts';
import { FakeHttp, fakeContext } from '../fakes.ts';

const A = 'http://a';
const USED = { cpuMilli: 500, memoryMib: 256, gpuMilli: 0, allocations: 1 };

function fake(body: unknown = {}) {
  const http = new FakeHttp({ [A]: () => ({ body }) });
  return { http, ...fakeContext(http, [A]) };
}

async function sent(options: SetQuotaOptions): Promise<unknown> {
  const { http, context, terminal } = fake();
  expect(await setQuota(context, 'team-a', options)).toBe(0);
  expect(terminal.stdout).toBe('team-a\n');
  expect(http.asked).toEqual([`PUT ${A}/v1/quotas/team-a`]);
  return http.calls[0]?.body;
}

test('what is typed is what is meant: units, nothing at all, and no limit for what is not named', async () => {
  const none = { cpuMilli: null, memoryMib: null, gpuMilli: null, allocations: null };
  expect(await sent({ cpu: '500' })).toEqual({ ...none, cpuMilli: 500_000 });
  expect(await sent({ cpu: '2000000' })).toEqual({ ...none, cpuMilli: 2_000_000_000 });
  expect(await sent({ cpu: '1500m', memory: '1.5Gi' })).toEqual({
    ...none,
    cpuMilli: 1500,
    memoryMib: 1536,
  });
  expect(await sent({ gpu: '0.5', allocations: 0 })).toEqual({ ...none, gpuMilli: 500, allocations: 0 });
  expect(await sent({ cpu: '0', memory: '0', gpu: '0' })).toEqual({
    ...none,
    cpuMilli: 0,
    memoryMib: 0,
    gpuMilli: 0,
  });
});

test.each<[SetQuotaOptions, RegExp]>([
  [{}, /name at least one of --cpu, --memory, --gpu, --allocations/],
  [{ cpu: '-1' }, /^--cpu: .*must be more than 0/],
  [{ cpu: '10cores' }, /^--cpu: .*did you mean "10"/],
  [{ memory: '64' }, /^--memory: .*did you mean "64Mi"/],
  [{ memory: '99999999999Ti' }, /^--memory: .*more than the limit/],
  [{ gpu: '1.0001' }, /^--gpu: .*write devices/],
])('refuses %o before anything is asked', async (options, message) => {
  const { http, context } = fake();
  await expect(setQuota(context, 'team-a', options)).rejects.toThrow(message);
  expect(http.asked).toEqual([]);
});

test('lists what is used of each limit, and names a record that cannot be read', async () => {
  const rows: QuotaStatus[] = [
    {
      ...{ namespace: 'team-a', cpuMilli: 10_000, memoryMib: null, gpuMilli: null, allocations: 4 },
      ...{ used: USED, isReadable: true },
    },
    {
      ...{ namespace: 'team-b', cpuMilli: 0, memoryMib: 0, gpuMilli: 0, allocations: 0 },
      ...{ used: USED, isReadable: false },
    },
  ];
  const { context, terminal } = fake({ quotas: rows });
  expect(await quotas(context)).toBe(0);
  expect(terminal.stdout).toMatch(/^team-a +0\.5\/10 5% +256Mi +0 +1\/4 25%$/m);
  expect(terminal.stderr).toMatch(/^the quota of team-b cannot be read.*moorage quota set team-b$/m);
});

test('without quotas it says how to give one; taking one back asks for just that', async () => {
  const empty = fake({ quotas: [] });
  await quotas(empty.context);
  expect(empty.terminal.stderr).toContain('moorage quota set NAMESPACE');
  const { http, context } = fake();
  await removeQuota(context, 'team-a');
  expect(http.asked).toEqual([`DELETE ${A}/v1/quotas/team-a`]);
});
