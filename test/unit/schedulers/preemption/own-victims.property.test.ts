import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KnownVictim, OwnVictimsParts } from '../../../../schedulers/preemption/own-victims.ts';
import { OwnVictims } from '../../../../schedulers/preemption/own-victims.ts';
import type { OwnEntry } from '../../../../schedulers/state/job-table.ts';
import { Entry } from '../../../../schedulers/state/owned-job.ts';
import type { OwnedJob } from '../../../../schedulers/state/owned-job.ts';
import type { DecidedCell, Term } from '../../../../schedulers/state/state.ts';
import type { Allocation, DesiredState } from '../../../../src/core/cell/allocation.ts';
import type { Claim } from '../../../../src/core/cell/claim.ts';
import type { Ledger } from '../../../../src/core/fit/ledger.ts';
import { EMPTY_LEDGER, withClaim } from '../../../../src/core/fit/ledger.ts';
import type { AllocationReport } from '../../../../src/core/host/report.ts';
import { OBSERVED_RANK } from '../../../../src/core/host/states.ts';
import { NO_CHANCE } from '../../../../src/core/random/chance.ts';
import { chooseVictims } from '../../../../src/core/preemption/victims.ts';
import { anyClaim, anyRequest, filled, makeFullHost } from '../../core/preemption/preemption-fixtures.ts';

const HOST = 'h1';
const OTHERS_PRECEDENCE = 5;

interface Part {
  readonly state: AllocationReport['state'] | null;
  readonly desired: DesiredState;
  readonly revision: number;
  readonly busy: 'marking' | 'releasing' | null;
}

const anyPart: fc.Arbitrary<Part> = fc.record({
  state: fc.constantFrom(null, 'accepted', 'running', 'running', 'running', 'stopping', 'complete'),
  desired: fc.constantFrom('run', 'run', 'run', 'stop', 'evict'),
  revision: fc.constantFrom(7, 7, 7, 0),
  busy: fc.constantFrom(null, null, null, 'marking', 'releasing'),
});

/** An allocation of this scheduler, of which not more is said than what a search for victims reads. */
function ownEntry(claim: Claim, part: Part, job: Partial<OwnedJob>): OwnEntry {
  const allocation = { ...claim, namespace: 'default', job: 'low', desired: part.desired } as Allocation;
  const entry = new Entry(allocation, part.revision, 'started');
  entry.report = part.state === null ? null : ({ ...claim, state: part.state } as AllocationReport);
  entry.marking = part.busy === 'marking';
  entry.releasing = part.busy === 'releasing';
  return { job: { stale: false, ...job } as OwnedJob, entry };
}

function victimsOf(
  own: readonly OwnEntry[],
  ledger: Ledger,
  parts: Partial<OwnVictimsParts> & { readonly kept?: boolean } = {},
): OwnVictims {
  const pauses = { onHost: () => (parts.kept === true ? {} : null) };
  const cell = { book: { get: () => ({ ledger, revision: 1 }) }, state: { hostOf: () => undefined } };
  const term = { cell: cell as unknown as DecidedCell, pauses: pauses as unknown as Term['pauses'] };
  return new OwnVictims(term, { ownOn: () => own, isReporting: () => true, ...parts });
}

const anyHost = fc.record({
  claims: fc.array(fc.tuple(anyClaim(HOST), anyPart), { maxLength: 8 }),
  request: anyRequest.map((request) => ({
    ...request,
    ask: { ...request.ask, gpu: null, ports: {} },
  })),
});

/** The ledger that commits keep: all that is committed, without what gives way. */
function ledgerOf(own: readonly OwnEntry[]): Ledger {
  return own.reduce(
    (ledger, { entry: { allocation, revision } }) =>
      revision === 0 || allocation.desired === 'evict' ? ledger : withClaim(ledger, allocation),
    EMPTY_LEDGER,
  );
}

const idsOf = (known: readonly KnownVictim[] | null): string[] =>
  (known ?? []).map(({ victim }) => victim.id).sort();

describe('victims that are all of this scheduler', () => {
  const make = (claims: readonly (readonly [Claim, Part])[]): OwnEntry[] => {
    const { running } = filled(
      makeFullHost(HOST),
      claims.map(([claim]) => claim),
    );
    return running.map((claim, n) => ownEntry(claim, claims[n]![1], {}));
  };

  it('I6 are those that its host and the store would have named: committed, below, to run and not stopping', () => {
    fc.assert(
      fc.property(anyHost, ({ claims, request }) => {
        const own = make(claims);
        const known = victimsOf(own, ledgerOf(own)).on(HOST, request);
        const asked = own.filter(({ entry: { allocation, report, revision, marking, releasing } }) => {
          const runs = report !== null && OBSERVED_RANK[report.state] < OBSERVED_RANK.stopping;
          const isBelow = allocation.precedence < request.precedence;
          return isBelow && runs && revision > 0 && allocation.desired === 'run' && !marking && !releasing;
        });
        expect(known).not.toBeNull();
        expect(idsOf(known)).toEqual(asked.map(({ entry }) => entry.allocation.id).sort());
      }),
    );
  });

  it('S3.10 those chosen of them are below the newcomer, are enough, and none of them can be spared', () => {
    const host = makeFullHost(HOST);
    fc.assert(
      fc.property(anyHost, ({ claims, request }) => {
        const own = make(claims);
        const ledger = ledgerOf(own);
        const known = victimsOf(own, ledger).on(HOST, request) ?? [];
        const running = known.map(({ victim }) => victim);
        const choice = chooseVictims(host, ledger, request, running, NO_CHANCE);
        if (choice === null) return;
        for (const victim of choice.victims) {
          expect(victim.precedence).toBeLessThan(request.precedence);
          const spared = running.filter(
            ({ id }) => id !== victim.id && choice.victims.some((v) => v.id === id),
          );
          const fewer = chooseVictims(host, ledger, request, spared, NO_CHANCE);
          expect(fewer?.victims.length ?? 0).toBe(0);
        }
      }),
    );
  });

  it('are not known where somebody else has anything below the newcomer', () => {
    fc.assert(
      fc.property(anyHost, anyClaim(HOST), ({ claims, request }, foreign) => {
        const own = make(claims);
        const other = { ...foreign, gpus: [], ports: {}, precedence: OTHERS_PRECEDENCE };
        const ledger = withClaim(ledgerOf(own), other);
        const isBelow = OTHERS_PRECEDENCE < request.precedence;
        expect(victimsOf(own, ledger).on(HOST, request) === null).toBe(isBelow);
      }),
    );
  });

  it('are not known while their job is read again, their host is silent, or a gang has an intent on them', () => {
    fc.assert(
      fc.property(anyClaim(HOST), anyRequest, (claim, any) => {
        const request = { ...any, precedence: 90, ask: { ...any.ask, gpu: null, ports: {} } };
        const part = { state: 'running', desired: 'run', revision: 7, busy: null } as const;
        const own = [ownEntry(claim, part, {})];
        const ledger = ledgerOf(own);
        expect(victimsOf(own, ledger).on(HOST, request)).toHaveLength(1);
        expect(victimsOf([ownEntry(claim, part, { stale: true })], ledger).on(HOST, request)).toBeNull();
        expect(victimsOf(own, ledger, { isReporting: () => false }).on(HOST, request)).toBeNull();
        const reserved = [ownEntry({ ...claim, intent: 'i1' } as Claim, part, {})];
        expect(victimsOf(reserved, ledger).on(HOST, request)).toBeNull();
        expect(victimsOf(own, ledger, { kept: true }).on(HOST, request)).toEqual([]);
        const withPort = { ...request, ask: { ...request.ask, ports: { http: 0 } } };
        expect(victimsOf(own, ledger).on(HOST, withPort)).toBeNull();
      }),
    );
  });
});
