import { expect, test } from 'vitest';
import { hosts } from '../../../../cli/cell/hosts.ts';
import type { HostListAnswer } from '../../../../src/wire/api/monitor-api.ts';
import { FakeHttp, fakeContext } from '../fakes.ts';

const A = 'http://a';
const NONE = { cpuMilli: 0, memoryMib: 0, diskMib: 0, scalars: {} };

function answerWith(attributes: Readonly<Record<string, string>>): HostListAnswer {
  const host = {
    ...{ id: 'h1', address: 'http://h1', capacity: { ...NONE, cpuMilli: 1000 }, reserved: NONE },
    ...{ gpuModels: [], portRange: { first: 1, last: 9 }, attributes, bootId: 'b', incarnation: 1 },
    agentVersion: '0.1.0',
  };
  const rest = { eligibility: null, used: NONE, gpuUsedMilli: 0, allocations: 0, alive: true };
  return { hosts: [{ host, ...rest, asOfMs: 1, staleSinceMs: null }], incomplete: false };
}

async function shown(attributes: Readonly<Record<string, string>>, wide: boolean): Promise<string> {
  const { context, terminal } = fakeContext(new FakeHttp({ [A]: () => ({ body: answerWith(attributes) }) }), [
    A,
  ]);
  await hosts({ ...context, wide });
  return terminal.stdout;
}

test('wide says which limits are counted and not enforced, and the other attributes', async () => {
  const attributes = {
    'limits.memory': 'none',
    'limits.cpu': 'none',
    'limits.disk': 'watched',
    zone: 'a',
    'isolation.user': 'none',
  };
  const text = await shown(attributes, true);
  expect(text).toMatch(/NOT-ENFORCED +VERSION +ATTRIBUTES/);
  expect(text).toMatch(/ cpu,disk \(watched\),memory,user +0\.1\.0 +zone=a\n/);
  expect(await shown(attributes, false)).not.toMatch(/NOT-ENFORCED/);
});

test('an agent that does not say what it enforces is not taken to enforce anything', async () => {
  expect(await shown({}, true)).toMatch(/ \? +0\.1\.0 +-\n/);
});
