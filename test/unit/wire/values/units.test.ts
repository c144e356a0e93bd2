import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CPU_MILLI_MAX, DURATION_MS_MAX, MEMORY_MIB_MAX } from '../../../../src/wire/values/bounds.ts';
import {
  formatCpu,
  formatDuration,
  formatMib,
  formatShare,
  readCpu,
  readDuration,
  readMemory,
  readShare,
} from '../../../../src/wire/values/units.ts';
import type { Reading } from '../../../../src/wire/values/units.ts';

const valueOf = (reading: Reading): number | string => (reading.ok ? reading.value : reading.text);

test.each([
  ['500m', 500],
  ['2', 2000],
  ['0.5', 500],
  ['0.001', 1],
  ['64', 64_000],
  ['96000m', 96_000],
])('cpu %s is %i millicores', (text, milli) => {
  expect(valueOf(readCpu(text))).toBe(milli);
});

test.each([
  ['500', /write cores .* did you mean "500m"\?/],
  ['0', /more than 0/],
  ['0m', /more than 0/],
  ['-1', /more than 0/],
  ['1025000m', /more than the limit of 1024000m/],
  ['0.0001', /at most three decimals/],
  ['2 cores', /did you mean "2"\?/],
  ['200Mi', /did you mean "200m"\?/],
  ['2000 MHz', /megahertz are not a unit here/],
  ['', /write cores/],
  ['1e3', /write cores/],
])('cpu %j is refused', (text, why) => {
  expect(valueOf(readCpu(text))).toMatch(why);
});

test.each([
  ['128Mi', 128],
  ['1.5Gi', 1536],
  ['512Ki', 1],
  ['1Ki', 1],
  ['100MB', 96],
  ['1GB', 954],
  ['2 Gi', 2048],
])('memory %s is %i MiB', (text, mib) => {
  expect(valueOf(readMemory(text))).toBe(mib);
});

test.each([
  ['128', /needs a unit .* did you mean "128Mi"\?/],
  ['128m', /thousandths of a byte, did you mean "128Mi"\?/],
  ['128mb', /"mb" is no unit .* did you mean "128Mi"\?/],
  ['1G', /"G" is no unit .* did you mean "1Gi"\?/],
  ['0Mi', /more than 0/],
  ['-5Mi', /more than 0/],
  ['999999Ti', /more than the limit/],
  ['lots', /write a number and a unit/],
])('memory %j is refused', (text, why) => {
  expect(valueOf(readMemory(text))).toMatch(why);
});

test.each([
  ['15s', 15_000],
  ['1h30m', 5_400_000],
  ['1d', 86_400_000],
  ['250ms', 250],
  ['0s', 0],
])('duration %s is %i ms', (text, ms) => {
  expect(valueOf(readDuration(text))).toBe(ms);
});

test.each([
  ['15', /needs a unit .* did you mean "15s"\?/],
  ['', /largest first/],
  ['30m1h', /largest first/],
  ['-1s', /must not be negative/],
  ['365d', /more than the limit of 24d/],
])('duration %j is refused', (text, why) => {
  expect(valueOf(readDuration(text))).toMatch(why);
});

describe('what is formatted is read back', () => {
  test('cpu, memory, durations, shares', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: CPU_MILLI_MAX }),
        fc.integer({ min: 1, max: MEMORY_MIB_MAX }),
        fc.integer({ min: 0, max: DURATION_MS_MAX }),
        fc.integer({ min: 1, max: 1000 }),
        (cpu, memory, duration, share) => {
          expect(valueOf(readCpu(formatCpu(cpu)))).toBe(cpu);
          expect(valueOf(readMemory(formatMib(memory)))).toBe(memory);
          expect(valueOf(readDuration(formatDuration(duration)))).toBe(duration);
          expect(valueOf(readShare(formatShare(share)))).toBe(share);
        },
      ),
    );
  });
});

test.each(['0', '1.5', '2', '1001m', '0m', 'half'])('a share of %s is refused', (text) => {
  expect(valueOf(readShare(text))).toMatch(/a part of one GPU/);
});
