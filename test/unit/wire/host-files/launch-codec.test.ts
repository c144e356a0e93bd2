import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeLaunch, encodeLaunch } from '../../../../src/wire/host-files/launch-codec.ts';
import { someLaunch } from './launch-arbitraries.ts';

const FIRST = '1\0/work\x004\x005\x00100\x002\x002\0sh\0-c\x001\0A=b=c\0';

describe('launch files', () => {
  it('say what was written', () => {
    fc.assert(
      fc.property(someLaunch, (launch) => {
        expect(decodeLaunch(encodeLaunch(launch))).toEqual(launch);
      }),
    );
  });

  it('S2.21 of the first version are read: their agent died before a shim came', () => {
    expect(decodeLaunch(FIRST)).toEqual({
      ...{ cwd: '/work', outBase: 4, errBase: 5, segmentBytes: 100, segmentsMax: 2 },
      ...{ command: ['sh', '-c'], env: { A: 'b=c' } },
    });
  });

  it('are refused when cut short, of another version, or with a word that could be a limit', () => {
    expect(() => decodeLaunch('2\0cwd\0/')).toThrow(/cut short/);
    expect(() => decodeLaunch('2\0cwd\0')).toThrow(/cut short/);
    expect(() => decodeLaunch('3\0cwd\0/\0')).toThrow(/another version/);
    expect(() => decodeLaunch('2\0memory.max\x001\0')).toThrow(/memory.max/);
  });
});
