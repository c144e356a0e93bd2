import { describe, expect, it } from 'vitest';
import { sha256Hex } from '../../../../src/adapters/system/digest.ts';
import { systemClock, systemRandom } from '../../../../src/adapters/system/system.ts';

describe('system adapters', () => {
  it('the digest is SHA-256', () => {
    expect(sha256Hex('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });

  it('a timer wakes once, and not after it was cancelled', async () => {
    const woken: string[] = [];
    const cancel = systemClock.after(0, () => woken.push('cancelled'));
    cancel();
    await new Promise<void>((resolve) =>
      systemClock.after(1, () => {
        woken.push('woken');
        resolve();
      }),
    );
    cancel();
    expect(woken).toEqual(['woken']);
  });

  it('a delay beyond what a Node timer holds does not fire at once', async () => {
    let woken = false;
    const cancel = systemClock.after(2 ** 31 + 10, () => (woken = true));
    await new Promise<void>((resolve) => systemClock.after(5, resolve));
    cancel();
    expect(woken).toBe(false);
  });

  it('chance stays within its bounds', () => {
    for (let n = 0; n < 1_000; n++) expect([0, 1, 2]).toContain(systemRandom.below(3));
    expect(systemRandom.bytes(16)).toHaveLength(16);
  });
});
