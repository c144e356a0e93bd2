import { expect, it } from 'vitest';
import { HostClocks } from '../../../../monitor/alarms/host-clocks.ts';

it('tells of hosts whose clock is another one, until it is right or the host is not heard', () => {
  const clocks = new HostClocks();
  const told = (): string[] => [...clocks.conditions()].map(({ subject, detail }) => `${subject}: ${detail}`);
  clocks.heard('h1', 1_500);
  clocks.heard('h2', -900);
  expect(told()).toEqual([]);
  clocks.heard('h1', 30_000);
  clocks.heard('h2', -2_500);
  expect(told()).toEqual([
    "h1: its clock is 30.0 s ahead of the monitor's: a ticket may be refused as expired",
    "h2: its clock is 2.5 s behind the monitor's: a ticket may be refused as expired",
  ]);
  clocks.heard('h1', 10);
  clocks.forget('h2');
  expect(told()).toEqual([]);
});
