import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { VolumeUse } from '../../../../src/core/cell/volume.ts';
import { claimName, isClaimName } from '../../../../src/core/cell/volume.ts';
import { holderEndOf } from '../../../../src/core/commit/ledger-changes.ts';
import type { ClaimState } from '../../../../src/core/quota/volume-claims.ts';
import {
  claimOfPool,
  volumePool,
  withHolder,
  withoutHolder,
} from '../../../../src/core/quota/volume-claims.ts';
import { testAllocation } from '../../../support/commit-world.ts';
import { outcomeOf } from '../../../support/history-world.ts';

const FREE: ClaimState = { used: 0 };
const NOBODY = (): boolean => false;

function use(id: string, more: Partial<VolumeUse> = {}): VolumeUse {
  return { name: 'data', claim: 'web.web.data.0', id, access: 'exclusive', onLoss: 'keep', ...more };
}

function held(state: ClaimState, host: string, of: VolumeUse, isLost = NOBODY as (host: string) => boolean) {
  return withHolder(state, testAllocation(of.id, host), of, isLost);
}

function mustHold(
  state: ClaimState,
  host: string,
  of: VolumeUse,
  isLost?: (host: string) => boolean,
): ClaimState {
  const now = held(state, host, of, isLost);
  if (typeof now === 'string') throw new Error(now);
  return now;
}

describe('claims on volumes', () => {
  it('S0.24 the first holder says where the data lies, and nobody has it elsewhere afterwards', () => {
    const first = mustHold(FREE, 'h1', use('a'));
    expect(first).toMatchObject({ used: 1, volume: { host: 'h1', id: 'a' } });
    const left = withoutHolder(first, use('a'));
    expect(left).toMatchObject({ used: 0, volume: { host: 'h1', id: 'a' } });
    expect(held(left ?? FREE, 'h2', use('a'))).toBe('volume web.web.data.0 lies on h1');
    expect(held(left ?? FREE, 'h1', use('b'))).toBe('volume web.web.data.0 lies on h1');
    expect(held(left ?? FREE, 'h1', use('a'))).toMatchObject({ used: 1 });
  });

  it('S0.24 an exclusive volume has one holder, a shared one any number on its host', () => {
    const first = mustHold(FREE, 'h1', use('a'));
    expect(held(first, 'h1', use('a'))).toContain('has a holder');
    const shared = use('a', { access: 'shared' });
    const two = mustHold(mustHold(FREE, 'h1', shared), 'h1', shared);
    expect(two.used).toBe(2);
    expect(held(two, 'h2', shared)).toContain('lies on h1');
    expect(held(two, 'h1', use('a'))).toContain('for shared use');
  });

  it('S0.24 data begins again elsewhere only where its job says so and its host is lost; the original is remembered', () => {
    const again = { onLoss: 'recreate' } as const;
    const first = mustHold(FREE, 'h1', use('a', again));
    expect(held(first, 'h2', use('b', again))).toContain('lies on h1');
    expect(held(first, 'h2', use('b'), (host) => host === 'h1')).toContain('lies on h1');
    const second = mustHold(first, 'h2', use('b', again), (host) => host === 'h1');
    expect(second).toMatchObject({
      used: 2,
      volume: { host: 'h2', id: 'b', left: [{ host: 'h1', id: 'a', used: 1 }] },
    });
    expect(withoutHolder(second, use('a', again))).toMatchObject({
      used: 1,
      volume: { id: 'b', left: [{ used: 0 }] },
    });
    expect(held(second, 'h2', use('b', again))).toContain('has a holder');
  });

  it('nothing is placed with a volume that is being deleted', () => {
    const { volume } = mustHold(FREE, 'h1', use('a'));
    const deleting: ClaimState = { used: 0, ...(volume && { volume: { ...volume, deleting: true } }) };
    expect(held(deleting, 'h1', use('a'))).toContain('being deleted');
  });

  it('a claim whose first holder never ran binds nobody', () => {
    const first = mustHold(FREE, 'h1', use('a'));
    expect(withoutHolder(first, use('a'), 'never-ran')).toEqual({ used: 0 });
    const allocation = testAllocation('a', 'h1');
    const { startedAtMs: _never, exit: _none, ...outcome } = outcomeOf(allocation);
    const release = { allocation, revision: 1, outcome: { ...outcome, state: 'failed' } };
    expect(holderEndOf(release, use('a'))).toBe('never-ran');
    expect(holderEndOf({ ...release, outcome: null }, use('a'))).toBe('never-ran');
    expect(holderEndOf({ ...release, outcome: { ...outcome, state: 'lost' } }, use('a'))).toBe('ended');
    expect(holderEndOf({ ...release, outcome: { ...outcome, startedAtMs: 1 } }, use('a'))).toBe('ended');
    expect(holderEndOf(release, use('earlier'))).toBe('ended');
  });

  it('I1 S0.24 whatever holds and releases, an exclusive volume has at most one holder of its data, and is counted right', () => {
    const act = fc.record({
      host: fc.constantFrom('h1', 'h2'),
      isRelease: fc.boolean(),
      isNew: fc.boolean(),
      lost: fc.constantFrom('', 'h1', 'h2'),
      onLoss: fc.constantFrom('keep' as const, 'recreate' as const),
    });
    fc.assert(
      fc.property(fc.array(act, { maxLength: 30 }), (acts) => {
        let state: ClaimState = FREE;
        const holders: { readonly id: string; readonly host: string }[] = [];
        for (const [number, { host, isRelease, isNew, lost, onLoss }] of acts.entries()) {
          if (isRelease) {
            const gone = holders.shift();
            if (gone !== undefined) state = withoutHolder(state, use(gone.id, { onLoss })) ?? { used: -1 };
          } else {
            const id = isNew ? `a${String(number)}` : (state.volume?.id ?? `a${String(number)}`);
            const next = held(state, host, use(id, { onLoss }), (one) => one === lost);
            if (typeof next === 'string') continue;
            state = next;
            holders.push({ id, host });
          }
          expect(state.used).toBe(holders.length);
          const now = holders.filter(({ id }) => id === state.volume?.id);
          expect(now.length).toBeLessThanOrEqual(1);
          for (const one of now) expect(one.host).toBe(state.volume?.host);
        }
      }),
    );
  });

  it('S0.26 data of a driver goes to whichever host holds it next, one holder at a time', () => {
    const brought = (id: string, more: Partial<VolumeUse> = {}): VolumeUse =>
      use(id, { driver: 'share', ...more });
    const first = mustHold(FREE, 'h1', brought('a', { create: true }));
    expect(first).toMatchObject({ used: 1, volume: { host: 'h1', driver: 'share' } });
    expect(held(first, 'h2', brought('a'))).toContain('has a holder on h1');
    const never = withoutHolder(first, brought('a'), 'never-ran') ?? FREE;
    expect(mustHold(never, 'h2', brought('a', { create: true })).volume).not.toHaveProperty('begun');
    const left = withoutHolder(first, brought('a'), 'ended') ?? FREE;
    expect(left).toMatchObject({ used: 0, volume: { id: 'a', begun: true } });
    expect(held(left, 'h2', brought('a', { create: true }))).toContain('has begun by now');
    expect(held(left, 'h2', brought('b'))).toContain('has other data');
    expect(held(left, 'h2', use('a'))).toContain('of driver share');
    expect(held(left, 'h2', brought('a', { access: 'shared' }))).toContain('for exclusive use');
    expect(mustHold(left, 'h2', brought('a'))).toMatchObject({ used: 1, volume: { host: 'h2', id: 'a' } });
    const local = mustHold(FREE, 'h1', use('a'));
    expect(held(local, 'h1', brought('a'))).toContain('there already, on h1');
  });

  it('S0.26 data is taken by force only after a holder that was fenced, until one has ended as it should', () => {
    const brought = use('a', { driver: 'share' });
    const forced = use('a', { driver: 'share', force: true });
    const first = mustHold(FREE, 'h1', brought);
    for (const end of ['ended', 'given-up'] as const)
      expect(held(withoutHolder(first, brought, end) ?? FREE, 'h2', forced)).toContain(
        'not to be taken from h1',
      );
    const fenced = withoutHolder(first, brought, 'fenced') ?? FREE;
    const second = mustHold(fenced, 'h2', forced);
    // Its attach failed, and the old host may still have the data.
    const again = mustHold(withoutHolder(second, forced, 'never-ran') ?? FREE, 'h3', forced);
    const ended = withoutHolder(again, forced, 'ended') ?? FREE;
    expect(held(ended, 'h1', forced)).toContain('not to be taken from h3');
  });

  it('S0.26 how a holder of a driver’s data left is told by its end, and by who answers for it', () => {
    const allocation = testAllocation('a', 'h1');
    const brought = use('a', { driver: 'share' });
    const { startedAtMs: _never, exit: _none, ...outcome } = outcomeOf(allocation);
    const release = { allocation, revision: 1, outcome: { ...outcome, state: 'failed' } };
    const refused = { ...release, outcome: { ...release.outcome, exit: { lost: 'not-run' } } };
    expect(holderEndOf(refused, brought)).toBe('never-ran');
    expect(holderEndOf({ ...release, outcome: { ...release.outcome, exit: { code: 1 } } }, brought)).toBe(
      'ended',
    );
    const gone = { ...release.outcome, state: 'lost', reason: 'host-lost' };
    expect(holderEndOf({ ...release, outcome: gone }, brought)).toBe('given-up');
    expect(holderEndOf({ ...release, outcome: gone, isFenced: true }, brought)).toBe('fenced');
    expect(holderEndOf({ ...release, outcome: null }, brought)).toBe('never-ran');
  });

  it('names of claims: of a slot, of a job, or as written', () => {
    const volume = { access: 'exclusive', onLoss: 'keep' } as const;
    expect(claimName('db', 'main', { name: 'data', volume, index: 2 })).toBe('db.main.data.2');
    expect(claimName('db', 'main', { name: 'data', volume: { ...volume, access: 'shared' }, index: 2 })).toBe(
      'db.data',
    );
    expect(claimName('db', 'main', { name: 'data', volume: { ...volume, claim: 'pg' }, index: 0 })).toBe(
      'pg',
    );
    for (const bad of ['', '..', 'a/b', 'a..b', '.a', 'A', 'a.b.c.d.e']) expect(isClaimName(bad)).toBe(false);
    expect(claimOfPool(volumePool('default', 'db.data'))).toEqual({ namespace: 'default', claim: 'db.data' });
    expect(claimOfPool('rack-uplink/r1')).toBeNull();
  });
});
