import { describe, expect, it } from 'vitest';
import { divideOpenFiles, openFilesLimit } from '../../../../src/adapters/system/open-files.ts';

describe('open files', () => {
  it('hosts and callers together never take more than there are', () => {
    for (const limit of [80, 160, 256, 1_024, 20_000, 1_048_576]) {
      const { hostsMax, callersMax } = divideOpenFiles(limit);
      expect(hostsMax + 2 * callersMax).toBeLessThanOrEqual(limit);
      expect(callersMax).toBeGreaterThan(0);
    }
  });

  it('a limit that leaves nothing still leaves one host and one caller', () => {
    expect(divideOpenFiles(10)).toEqual({ limit: 10, hostsMax: 1, callersMax: 1 });
  });

  it('the limit of this process is read from the kernel', () => {
    expect(openFilesLimit()).toBeGreaterThan(100);
  });
});
