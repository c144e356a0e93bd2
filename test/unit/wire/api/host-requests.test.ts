import { describe, expect, it } from 'vitest';
import { startRequest, stopRequest } from '../../../../src/wire/api/host-requests.ts';
import { someStart, someStop, someTask } from '../../../support/host-orders.ts';

function accepts(change: (order: ReturnType<typeof someStart>) => unknown): boolean {
  return startRequest.safeParse(change(structuredClone(someStart()))).success;
}

describe('what a host lets in', () => {
  it('takes what a scheduler sends, and gives it back unchanged', () => {
    const order = someStart({
      allocation: { evicts: ['a1'], cause: 'x', gpus: [{ device: 0, milli: 500 }] },
    });
    expect(startRequest.parse(JSON.parse(JSON.stringify(order)))).toEqual(order);
    expect(stopRequest.parse(someStop())).toMatchObject({ mode: 'stop' });
  });

  it('refuses what could become a path, a broken C string or too much', () => {
    const withTask = (changes: object) => (order: ReturnType<typeof someStart>) => ({
      ...order,
      launch: { ...order.launch, tasks: { main: { ...someTask(), ...changes } } },
    });
    const withAllocation = (changes: object) => (order: ReturnType<typeof someStart>) => ({
      ...order,
      allocation: { ...order.allocation, ...changes },
    });
    expect(accepts((order) => order)).toBe(true);
    const wrong = [
      withAllocation({ id: '../../etc' }),
      withAllocation({ id: 'A' }),
      withAllocation({ id: 'a.b' }),
      withAllocation({ ports: { http: 70_000 } }),
      withAllocation({ resources: { cpuMilli: 0.5, memoryMib: 0, diskMib: 0, scalars: {} } }),
      withAllocation({ resources: { cpuMilli: -1, memoryMib: 0, diskMib: 0, scalars: {} } }),
      withTask({ command: [] }),
      withTask({ command: ['a\0b'] }),
      withTask({ command: ['\ud800'] }),
      withTask({ command: ['x'.repeat(5_000)] }),
      withTask({ command: Array.from({ length: 65 }, () => 'x') }),
      withTask({ env: { 'A=B': 'x' } }),
      withTask({ env: { '': 'x' } }),
      withTask({ env: { A: 'a\0b' } }),
      withTask({ privileged: true }),
      withTask({ stop: { signal: 'TERM', graceMs: 1 } }),
      (order: object) => ({ ...order, extra: 1 }),
      (order: object) => ({ ...order, commandId: '' }),
    ];
    for (const change of wrong) expect(accepts(change), change.toString()).toBe(false);
  });

  it('I64 drops, without refusing, what a newer scheduler says of an allocation', () => {
    expect(accepts((order) => ({ ...order, allocation: { ...order.allocation, later: 1 } }))).toBe(true);
  });
});
