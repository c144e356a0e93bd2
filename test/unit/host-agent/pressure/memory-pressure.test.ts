import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  isStalled,
  pressureAttributes,
  pressureOf,
  readPressure,
} from '../../../../host-agent/pressure/memory-pressure.ts';
import { chooseVictim } from '../../../../host-agent/tasks/qos.ts';
import { linuxCgroups } from '../../../../src/adapters/processes/cgroups.ts';
import { HostWorld } from '../../../support/host-world.ts';
import { MemoryCgroups } from '../../../support/memory-cgroups.ts';
import { itWhere } from '../../../support/needs.ts';

const text = (some: string, full: string): string =>
  [`some avg10=${some} avg300=0.00 total=915025`, `full avg10=${full} avg300=0.00 total=31273`, ''].join(
    '\n',
  );
const CALM = text('0.00 avg60=0.31', '0.00 avg60=0.00');
const BUSY = text('41.20 avg60=12.00', '2.95 avg60=1.07');
const STALLED = text('88.81 avg60=60.02', '34.95 avg60=21.07');

describe('how a machine has memory', () => {
  it('S3.10 is read as the kernel says it, and what is no such text says nothing', () => {
    expect(readPressure(BUSY)).toEqual({ someAvg10: 41.2, someAvg60: 12, fullAvg10: 2.95, fullAvg60: 1.07 });
    for (const none of [null, '', 'some avg10=1', CALM.replace('full', 'half')])
      expect(readPressure(none)).toBeNull();
    expect([CALM, BUSY, STALLED].map((one) => isStalled(readPressure(one)))).toEqual([false, false, true]);
    expect(isStalled(null)).toBe(false);
  });

  it('S3.10 a stalled machine chooses who goes before the last memory is used, but not while there is plenty', () => {
    const use = (usedBytes: number) => [
      { id: 'a', precedence: 10, usedBytes, requestedBytes: 10, startedAtMs: 0 },
    ];
    expect(chooseVictim(use(80), 100)).toBeNull();
    expect(chooseVictim(use(80), 100, true)?.id).toBe('a');
    expect(chooseVictim(use(70), 100, true)).toBeNull();
    expect(chooseVictim(use(86), 100)?.id).toBe('a');
  });

  it('is an attribute of the host, which is registered anew when it is another one', async () => {
    const world = new HostWorld();
    const cgroups = new MemoryCgroups([], () => []);
    world.cgroups = cgroups;
    await world.open();
    expect(world.agent.host.attributes['memory.pressure']).toBeUndefined();
    const told: (string | undefined)[] = [];
    for (const one of [CALM, CALM, BUSY, STALLED, null]) {
      cgroups.memoryPressure = one;
      if (await world.agent.lookForLeaks()) told.push(world.agent.host.attributes['memory.pressure']);
    }
    expect(told).toEqual(['low', 'some', 'full', undefined]);
  });

  const absent = existsSync('/proc/pressure/memory')
    ? null
    : 'this kernel does not count it (no /proc/pressure)';
  itWhere(absent, 'of this machine is understood', async () => {
    const pressure = await pressureOf(linuxCgroups());
    expect(Object.values(pressure ?? {})).toHaveLength(4);
    expect(Object.values(pressureAttributes(pressure))).toEqual([expect.stringMatching(/^(low|some|full)$/)]);
  });
});
