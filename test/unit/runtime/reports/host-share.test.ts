import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HostShare, PATIENCE_MS, PATIENCE_UNSAID_MS } from '../../../../src/runtime/reports/host-share.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const HOSTS = Array.from({ length: 60 }, (_, n) => `host-${String(n)}`);

/** Monitors that see each other, and what each hears of at first hand. */
function monitorsOf(ids: readonly string[], clock = new ManualClock()) {
  const heardAt = new Map(ids.map((id) => [id, new Set<string>()]));
  const missed = new Map(ids.map((id) => [id, new Set<string>()]));
  const live = new Map(ids.map((id) => [id, new Set(ids.filter((other) => other !== id))]));
  const shares = ids.map((id) => {
    const others = (): readonly string[] => [...(live.get(id) ?? [])];
    const share = new HostShare(id, clock, {
      get live() {
        return live.get(id) ?? new Set();
      },
      hears: (host) => others().some((other) => heardAt.get(other)?.has(host) === true),
      misses: (host) => others().some((other) => missed.get(other)?.has(host) === true),
    });
    return { id, share, heard: heardAt.get(id) ?? new Set<string>(), missed: missed.get(id) ?? new Set() };
  });
  /** Each follows what it should, and hears of it unless the host is out of its reach. */
  const step = (isReached = (_id: string, _host: string) => true): void => {
    for (const { id, share, heard, missed } of shares)
      for (const host of HOSTS) {
        const isFollowed = share.follows(host, heard.has(host) || missed.has(host));
        heard.delete(host);
        missed.delete(host);
        if (isFollowed) (isReached(id, host) ? heard : missed).add(host);
      }
  };
  return { shares, live, step, clock };
}

const followers = (shares: readonly { readonly heard: ReadonlySet<string> }[], host: string): number =>
  shares.filter(({ heard }) => heard.has(host)).length;

describe('the share of a monitor', () => {
  it('S4.4 each host comes to be followed by one monitor, and each monitor has its share', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 5 }), (ids) => {
        const { shares, step } = monitorsOf(ids);
        for (let n = 0; n < 3; n++) step();
        for (const host of HOSTS) expect(followers(shares, host)).toBe(1);
      }),
    );
    const { shares, step } = monitorsOf(['m1', 'm2']);
    for (let n = 0; n < 3; n++) step();
    for (const { heard } of shares) expect(heard.size).toBeGreaterThan(HOSTS.length / 4);
  });

  it('one alone follows every host', () => {
    const { shares, step } = monitorsOf(['m1']);
    step();
    expect(shares[0]?.heard.size).toBe(HOSTS.length);
  });

  it('I51 whoever reaches a host follows it, when the one whose share it is does not', async () => {
    const { shares, step, clock } = monitorsOf(['m1', 'm2']);
    for (let n = 0; n < 3; n++) step();
    const isReached = (id: string): boolean => id !== 'm1';
    step(isReached);
    await clock.advance(PATIENCE_MS);
    step(isReached);
    expect(shares[1]?.heard.size).toBe(HOSTS.length);
    step();
    step();
    for (const host of HOSTS) expect(followers(shares, host)).toBe(1);
  });

  it('one that opens its streams one by one is left its share for a while', async () => {
    const { shares, clock } = monitorsOf(['m1', 'm2']);
    const second = shares[1]?.share;
    const own = HOSTS.filter((host) => second?.follows(host, false));
    expect(own.length).toBeLessThan(HOSTS.length);
    await clock.advance(PATIENCE_UNSAID_MS - 1);
    expect(HOSTS.filter((host) => second?.follows(host, false))).toEqual(own);
    await clock.advance(1);
    expect(HOSTS.filter((host) => second?.follows(host, false))).toEqual(HOSTS);
  });

  it('those of a monitor that is gone are shared by the others at once', () => {
    const { shares, live, step } = monitorsOf(['m1', 'm2', 'm3']);
    for (let n = 0; n < 3; n++) step();
    for (const [id, others] of live) live.set(id, new Set([...others].filter((other) => other !== 'm1')));
    const left = shares.filter(({ id }) => id !== 'm1');
    for (const { share, heard } of left)
      for (const host of HOSTS) if (share.follows(host, heard.has(host))) heard.add(host);
    for (const host of HOSTS) expect(followers(left, host)).toBe(1);
  });
});
