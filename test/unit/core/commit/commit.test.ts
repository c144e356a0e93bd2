import fc from 'fast-check';
import { PoolBook } from '../../../../src/core/quota/pool-book.ts';
import { describe, expect, it } from 'vitest';
import type { Allocation } from '../../../../src/core/cell/allocation.ts';
import { allOf, conflictsIn, prune } from '../../../../src/core/commit/conflicts.ts';
import { idsOf, unitsOf } from '../../../../src/core/commit/commit.ts';
import { bandOf, EMPTY_LEDGER, withClaim } from '../../../../src/core/fit/ledger.ts';
import type { ConflictReason, Plan } from '../../../../src/core/commit/plan.ts';
import { NO_RESOURCES } from '../../../../src/core/cell/resources.ts';
import { GIVEN_UP } from '../../../../src/core/slots/given-up.ts';
import { forgottenOutcome } from '../../../../src/core/slots/outcomes.ts';
import { TransactionDraft } from '../../../../src/core/commit/transaction-draft.ts';
import { planOf, testAllocation, testHost } from '../../../support/commit-world.ts';

const WHY: ConflictReason = { reason: 'changed' };

function idsOfPlan(plan: Plan): string[] {
  return [
    ...plan.places.map((place) => place.id),
    ...plan.evictions.map((eviction) => eviction.victim.id),
    ...plan.releases.map((release) => release.allocation.id),
  ];
}

const host = fc.integer({ min: 0, max: 5 }).map((n) => `h${String(n)}`);
const anyPlan = fc
  .record({
    atomicity: fc.constantFrom('incremental' as const, 'all-or-nothing' as const),
    places: fc.array(host, { maxLength: 60 }),
    evictions: fc.array(host, { maxLength: 20 }),
    releases: fc.array(host, { maxLength: 40 }),
    withoutQuota: fc.boolean(),
  })
  .map(({ atomicity, places, evictions, releases, withoutQuota }) =>
    planOf('p', {
      ...{ atomicity, withoutQuota },
      places: places.map((on, n) => testAllocation(`place${String(n)}`, on)),
      evictions: evictions.map((on, n) => ({
        ...{ victim: testAllocation(`victim${String(n)}`, on), victimRevision: 3, cause: 'why' },
      })),
      releases: releases.map((on, n) => ({
        ...{ allocation: testAllocation(`release${String(n)}`, on), revision: 3, outcome: null },
      })),
    }),
  );

describe('units of a plan', () => {
  it('hold every part of the plan exactly once, and an incremental unit one host', () => {
    fc.assert(
      fc.property(anyPlan, fc.integer({ min: 4, max: 128 }), (plan, operationsMax) => {
        const units = unitsOf(plan, operationsMax);
        expect(units.flatMap(idsOf).sort()).toEqual(idsOfPlan(plan).sort());
        for (const unit of units) {
          expect(unit.atomic).toBe(plan.atomicity === 'all-or-nothing');
          if (!unit.atomic) expect(unit.parts).toHaveLength(1);
        }
        if (plan.atomicity === 'all-or-nothing')
          expect(units.length).toBe(idsOfPlan(plan).length === 0 ? 0 : 1);
      }),
    );
  });

  it('of incremental plans fit into a transaction each', () => {
    fc.assert(
      fc.property(anyPlan, fc.integer({ min: 4, max: 128 }), (plan, operationsMax) => {
        const all = { ...EMPTY_LEDGER, bands: [bandOf(50, bigHost.capacity)] };
        const knowledge = {
          ledgerOf: () => ({ ledger: all, revision: 1 }),
          hostOf: () => undefined,
          ownerRevisionOf: () => 1,
          intentRevisionOf: () => undefined,
          pools: new PoolBook(),
        };
        for (const unit of unitsOf({ ...plan, atomicity: 'incremental' }, operationsMax)) {
          const draft = new TransactionDraft(knowledge, operationsMax);
          const added = draft.add(unit);
          // The host is not known, so places conflict; but never for their number.
          if (typeof added === 'object')
            expect([...added.conflicts.values()][0]).toMatchObject({ reason: 'no-fit' });
          else expect(draft.operations).toBeLessThanOrEqual(operationsMax);
        }
      }),
    );
  });

  it('prune is a partition: what is refused and what is left are all of the unit', () => {
    fc.assert(
      fc.property(anyPlan, fc.func(fc.boolean()), (plan, isBad) => {
        for (const unit of unitsOf(plan, 128)) {
          const bad = idsOf(unit).filter((id) => isBad(id));
          const { rest, refused } = prune(unit, new Map(bad.map((id) => [id, WHY])));
          const left = rest === null ? [] : idsOf(rest);
          expect([...refused.keys(), ...left].sort()).toEqual(idsOf(unit).sort());
          if (unit.atomic && bad.length > 0) expect(rest).toBeNull();
          for (const id of bad) expect(refused.get(id)).toBe(WHY);
        }
      }),
    );
  });

  it('S3.10 I6 land or fail whole on a host with pending preemptions', () => {
    // One member fits as it is, another takes the places of two victims, which only that one names.
    const plan = planOf('p', {
      places: [fitting, taking],
      evictions: [pendingOne('v1'), pendingOne('v2')],
    });
    for (const bad of ['v1', 'v2', 'fitting', 'taking']) {
      const [unit, ...more] = unitsOf(plan, 128);
      expect(more).toEqual([]);
      const { rest, refused } = prune(unit!, new Map([[bad, WHY]]));
      expect([rest, [...refused.keys()].sort()]).toEqual([null, ['fitting', 'taking', 'v1', 'v2']]);
    }
    expect(unitsOf(plan, 4).map(idsOf)).toEqual([['fitting', 'taking', 'v1', 'v2']]);
  });

  it('evict nothing when all newcomers are refused', () => {
    const victim = testAllocation('victim', 'h1');
    const [unit] = unitsOf(
      planOf('p', {
        places: [testAllocation('new', 'h1')],
        evictions: [{ victim, victimRevision: 1, cause: 'why' }],
      }),
      128,
    );
    const { rest, refused } = prune(unit!, new Map([['new', WHY]]));
    expect(rest).toBeNull();
    expect([...refused]).toEqual([
      ['new', WHY],
      ['victim', WHY],
    ]);
  });
});

const intent = { namespace: 'default', job: 'web', id: 'i' };
const fitting = testAllocation('fitting', 'h4', { intent: 'i' });
const taking = testAllocation('taking', 'h4', { intent: 'i', evicts: ['v1', 'v2'] });

function pendingOne(id: string, of = intent) {
  const victim = testAllocation(id, 'h4', { job: 'low', precedence: 10 });
  const keeps = { resources: NO_RESOURCES, gpus: [] };
  return { victim, victimRevision: 3, cause: 'why', yields: { intent: of, keeps } };
}

const bigHost = testHost('h', { capacity: { cpuMilli: 1e9, memoryMib: 1e9, diskMib: 0, scalars: {} } });

describe('a transaction draft', () => {
  const ledgers = new Map<string, { ledger: typeof EMPTY_LEDGER; revision: number }>();
  const draftOf = (operationsMax = 128): TransactionDraft =>
    new TransactionDraft(
      {
        ledgerOf: (id) => ledgers.get(id) ?? { ledger: EMPTY_LEDGER, revision: 0 },
        hostOf: (id) => testHost(id),
        ownerRevisionOf: (_namespace, job) => (job === 'not-ours' ? undefined : 7),
        intentRevisionOf: ({ id }) => (id === 'gone' ? undefined : 9),
        pools: new PoolBook(),
      },
      operationsMax,
    );
  const unitOf = (plan: Partial<Plan>) => unitsOf(planOf('p', plan), 128)[0]!;
  const places = (...of: Allocation[]) => unitOf({ places: of });

  it('carries 64 hosts with an allocation and an owner each, under the limit of 128', () => {
    const draft = draftOf();
    for (let n = 0; n < 64; n++)
      expect(
        draft.add(places(testAllocation(`a${String(n)}`, `h${String(n)}`, { job: `j${String(n)}` }))),
      ).toBe('added');
    expect(draft.operations).toBe(128);
    expect(draft.add(places(testAllocation('one-more', 'h64')))).toBe('full');
  });

  it('shares a ledger between plans, and lets the next wait when it no longer fits beside them', () => {
    const draft = draftOf();
    for (const id of ['a', 'b', 'c', 'd']) expect(draft.add(places(testAllocation(id, 'h1')))).toBe('added');
    expect(draft.operations).toBe(5);
    expect(draft.add(places(testAllocation('e', 'h1')))).toBe('waits');
  });

  it('I1 refuses what does not fit on the ledger that it knows, all of one host together', () => {
    const added = draftOf().add(places(...['a', 'b', 'c', 'd', 'e'].map((id) => testAllocation(id, 'h1'))));
    expect(added).toMatchObject({ missing: false });
    expect(typeof added === 'object' && [...added.conflicts.keys()]).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('I72 refuses a place that was decided before a change of its host’s eligibility', () => {
    ledgers.set('h9', { ledger: { ...EMPTY_LEDGER, counter: 2 }, revision: 5 });
    const under = (counter: number) =>
      draftOf().add(places(testAllocation('a', 'h9', { epoch: { incarnation: 'i', counter } })));
    const short = { dimension: 'eligibility', needed: 2, available: 1 };
    const late = under(1);
    expect(typeof late === 'object' && [...late.conflicts]).toEqual([['a', { reason: 'no-fit', short }]]);
    expect(under(2)).toBe('added');
  });

  it('refuses places of jobs that we do not own, and no others', () => {
    const added = draftOf().add(
      places(testAllocation('a', 'h1'), testAllocation('b', 'h1', { job: 'not-ours' })),
    );
    expect(typeof added === 'object' && [...added.conflicts]).toEqual([['b', { reason: 'not-owner' }]]);
  });

  it("gives a victim's use, but not its ports, to the newcomer", () => {
    const victim = testAllocation('victim', 'h2', {
      ...{ resources: { cpuMilli: 4000, memoryMib: 10, diskMib: 0, scalars: {} }, ports: { http: 20_001 } },
    });
    ledgers.set('h2', { ledger: withClaim(EMPTY_LEDGER, victim), revision: 5 });
    const evictions = [{ victim, victimRevision: 5, cause: 'why' }];
    const draft = draftOf();
    const samePort = testAllocation('new', 'h2', { ports: { http: 20_001 } });
    const added = draft.add(unitOf({ places: [samePort], evictions }));
    expect(typeof added === 'object' && added.conflicts.get('new')).toMatchObject({
      short: { dimension: 'port' },
    });
    expect(draft.add(unitOf({ places: [testAllocation('new', 'h2')], evictions }))).toBe('added');
    expect([...draft.ledgers][0]?.after).toMatchObject({
      ports: [20_001],
      bands: [{ precedence: 50, cpuMilli: 1000 }],
    });
    expect(draft.puts[0]).toMatchObject({ id: 'victim', desired: 'evict', cause: 'why' });
  });

  it('S3.10 I6 a pending preemption needs an open intent, and one host no more than one transaction reverts', () => {
    const evictions = [pendingOne('v1'), pendingOne('v2')];
    const ledger = evictions.reduce((sum, { victim }) => withClaim(sum, victim), EMPTY_LEDGER);
    ledgers.set('h4', { ledger, revision: 5 });
    const gone = pendingOne('v1', { ...intent, id: 'gone' });
    const late = draftOf().add(unitOf({ evictions: [gone] }));
    expect(typeof late === 'object' && [...late.conflicts]).toEqual([['v1', { reason: 'intent-gone' }]]);
    const alone = draftOf();
    expect(alone.add(unitOf({ evictions }))).toBe('added');
    expect([...alone.intents]).toEqual([{ intent, modRevision: 9 }]);
    // The way back compares the ledger, the intent, the members and their victims.
    const unit = unitOf({ places: [fitting, taking], evictions });
    const small = draftOf(5).add(unit);
    expect(typeof small === 'object' && small.conflicts).toEqual(allOf(unit, { reason: 'too-large' }));
    expect(draftOf(6).add(unit)).toBe('added');
  });

  it('I12 compares each lost host once, in whose stead it places, and none where it stands in for nothing', () => {
    const [first, second] = [testAllocation('a1', 'h1'), testAllocation('a2', 'h1')];
    const gone = { host: 'gone', revision: 7 };
    const lostHosts = new Map([
      ['a1', [gone]],
      ['a2', [gone]],
    ]);
    const draft = draftOf();
    for (const unit of unitsOf(planOf('p', { places: [first, second], lostHosts }), 128))
      expect(draft.add(unit)).toBe('added');
    expect([...draft.lostHosts]).toEqual([gone]);
    const plain = draftOf();
    expect(plain.add(unitOf({ places: [first] }))).toBe('added');
    expect([...plain.lostHosts]).toEqual([]);
  });

  it('I12 fits into one transaction what stands in for as many hosts as it places', () => {
    const places = Array.from({ length: 126 }, (_, n) => testAllocation(`a${String(n)}`, 'h1'));
    for (const each of [1, 2, 3]) {
      const gone = (n: number) =>
        Array.from({ length: each }, (_, m) => ({ host: `gone-${String(n)}-${String(m)}`, revision: 7 }));
      const lostHosts = new Map(places.map(({ id }, n) => [id, gone(n)]));
      for (const one of unitsOf(planOf('p', { places, lostHosts }), 128)) {
        const added = draftOf(128).add(one);
        // There is no room for so many: but never are they too many for the transaction.
        const why = typeof added === 'object' ? added.conflicts.get(one.parts[0]?.places[0]?.id ?? '') : null;
        expect(why?.reason ?? 'no-fit').toBe('no-fit');
      }
    }
  });

  it('I9 compares once that a namespace has no quota, and only where no arbiter has said that it has one', () => {
    const [first, second] = [testAllocation('a1', 'h1'), testAllocation('a2', 'h1')];
    const draft = draftOf();
    for (const unit of unitsOf(planOf('p', { places: [first, second], withoutQuota: true }), 128))
      expect(draft.add(unit)).toBe('added');
    expect([...draft.unlimited]).toEqual([first.namespace]);
    const plain = draftOf();
    expect(plain.add(unitOf({ places: [first] }))).toBe('added');
    expect([...plain.unlimited]).toEqual([]);
  });

  it('I7 claims the job that a plan names, and counts what that compares and writes', () => {
    const place = testAllocation('a', 'h1');
    const by = { scheduler: 'batch-1', kind: 'batch', sinceMs: 0 };
    const jobClaim = { namespace: place.namespace, job: place.job, by };
    const plan = planOf('p', { atomicity: 'all-or-nothing', places: [place], jobClaim });
    const draft = draftOf();
    for (const unit of unitsOf(plan, 128)) expect(draft.add(unit)).toBe('added');
    const { namespace, job } = place;
    expect([...draft.owners]).toEqual([{ namespace, job, createRevision: 0, claimedBy: by }]);
    // Compared: the ledger, the owner, no allocations, no outcomes.
    expect(draft.operations).toBe(4);
  });

  it('says when the ledger does not hold what it should free', () => {
    const allocation = testAllocation('gone', 'h3');
    const added = draftOf().add(unitOf({ releases: [{ allocation, revision: 3, outcome: null }] }));
    expect(added).toEqual({ conflicts: new Map([['gone', { reason: 'changed' }]]), missing: true });
  });

  it('S1.1 gives nothing up on a host that is not lost any more', () => {
    const allocation = testAllocation('a1', 'was-lost');
    const outcome = forgottenOutcome(allocation, GIVEN_UP, 1);
    const unit = unitOf({ releases: [{ allocation, revision: 3, outcome }] });
    const refused = { conflicts: new Map([['a1', { reason: 'changed' }]]), missing: false };
    const held = withClaim(EMPTY_LEDGER, allocation);
    ledgers.set('was-lost', { ledger: held, revision: 5 });
    expect(draftOf().add(unit)).toEqual(refused);
    ledgers.set('was-lost', { ledger: { ...held, state: 'lost' }, revision: 4 });
    expect(draftOf().add(unit)).toBe('added');
  });

  it('refuses a plan that must not be cut and does not fit into one transaction', () => {
    const many = Array.from({ length: 65 }, (_, n) => testAllocation(`a${String(n)}`, `h${String(n)}`));
    const unit = unitOf({ atomicity: 'all-or-nothing', places: many });
    const added = draftOf().add(unit);
    expect(typeof added === 'object' && added.conflicts).toEqual(allOf(unit, { reason: 'too-large' }));
  });
});

describe('judging a refused unit', () => {
  const [unit] = unitsOf(planOf('p', { places: [testAllocation('a', 'h1')] }), 128);
  const shared = { poolRevision: () => 0, resourceRevision: () => 0, hasQuota: () => false };
  const sent = { ledgerRevision: () => 5, ownerRevision: () => 2, intentRevision: () => 3, ...shared };
  const found = {
    ...{ ledgerRevision: () => 9, ownerRevision: () => 2, allocationRevision: () => 0 },
    intentRevision: () => 3,
    eligibilityRevision: () => 5,
    ...shared,
  };

  it('takes a moved ledger for no conflict yet under resource-fit, and for one under version', () => {
    expect(conflictsIn(unit!, sent, found, false)).toEqual({ conflicts: new Map(), moved: true });
    expect(conflictsIn(unit!, sent, found, true).conflicts.get('a')).toEqual({ reason: 'version' });
    expect(conflictsIn(unit!, sent, { ...found, ledgerRevision: () => 5 }, true)).toEqual({
      ...{ conflicts: new Map(), moved: false },
    });
  });

  it('I6 refuses a preemption for an intent that is no longer open', () => {
    const [pending] = unitsOf(planOf('p', { evictions: [pendingOne('v1')] }), 128);
    const unchanged = { ...found, allocationRevision: () => 3 };
    expect(conflictsIn(pending!, sent, unchanged, false).conflicts).toEqual(new Map());
    const voided = { ...unchanged, intentRevision: () => 4 };
    expect([...conflictsIn(pending!, sent, voided, false).conflicts]).toEqual([
      ['v1', { reason: 'intent-gone' }],
    ]);
  });

  it('I12 refuses what stands in for a host whose eligibility has changed, and tries the rest again', () => {
    const places = [testAllocation('a1', 'h1'), testAllocation('a2', 'h1'), testAllocation('a3', 'h1')];
    const lostHosts = new Map([
      ['a1', [{ host: 'gone', revision: 5 }]],
      [
        'a2',
        [
          { host: 'gone', revision: 5 },
          { host: 'back', revision: 4 },
        ],
      ],
    ]);
    const [standIns] = unitsOf(planOf('p', { places, lostHosts }), 128);
    const { conflicts } = conflictsIn(standIns!, sent, found, false);
    expect([...conflicts]).toEqual([['a2', { reason: 'host-back', host: 'back' }]]);
    const { rest } = prune(standIns!, conflicts);
    expect(rest?.parts[0]?.places.map(({ id }) => id)).toEqual(['a1', 'a3']);
    const later = { ...found, eligibilityRevision: () => 6 };
    expect([...conflictsIn(rest!, sent, later, false).conflicts.keys()]).toEqual(['a1']);
  });

  it('I9 refuses what took its namespace to have no quota, where it has one', () => {
    const [unlimited] = unitsOf(
      planOf('p', { places: [testAllocation('a', 'h1')], withoutQuota: true }),
      128,
    );
    const limited = { ...found, hasQuota: () => true };
    expect(conflictsIn(unlimited!, sent, found, false).conflicts).toEqual(new Map());
    expect([...conflictsIn(unlimited!, sent, limited, false).conflicts]).toEqual([
      ['a', { reason: 'quota' }],
    ]);
    // Another plan in the same transaction had its tickets.
    expect(conflictsIn(unit!, sent, limited, false).conflicts).toEqual(new Map());
  });

  it('I7 refuses all of what was to claim its job', () => {
    const places = [testAllocation('a', 'h1'), testAllocation('b', 'h2')];
    const jobClaim = { namespace: 'default', job: 'j', by: { scheduler: 's', kind: 'batch', sinceMs: 0 } };
    const plan = planOf('p', { atomicity: 'all-or-nothing', places, jobClaim });
    const [claiming] = unitsOf(plan, 128);
    const { conflicts, moved } = conflictsIn(claiming!, sent, { ...found, ownerRevision: () => 0 }, false);
    expect(conflicts).toEqual(allOf(claiming!, { reason: 'not-owner' }));
    expect(moved).toBe(false);
  });

  it('voids the work of a job whose owner key is another or gone', () => {
    for (const revision of [0, 3])
      expect(
        conflictsIn(unit!, sent, { ...found, ownerRevision: () => revision }, false).conflicts.get('a'),
      ).toEqual({
        reason: 'not-owner',
      });
  });
});
