import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fitShortfall } from '../../../../src/core/fit/fit.ts';
import { EMPTY_LEDGER, withClaim } from '../../../../src/core/fit/ledger.ts';
import type { PlacementRequest } from '../../../../src/core/placement/placement-request.ts';
import { chooseVictims } from '../../../../src/core/preemption/victims.ts';
import { anyClaim, anyRequest, filled, fits, makeFullHost, without } from './preemption-fixtures.ts';
import { amounts, chanceOf, makeClaim, makeRequest } from '../placement/placement-fixtures.ts';

describe('choosing victims', () => {
  const host = makeFullHost('h0');
  const anyCase = fc.record({
    claims: fc.array(anyClaim('h0'), { maxLength: 12 }),
    request: anyRequest,
    seed: fc.integer(),
  });

  it('S3.10 all of lower precedence, it fits after them, and without any one of them it would not', () => {
    fc.assert(
      fc.property(anyCase, ({ claims, request, seed }) => {
        const { ledger, running } = filled(host, claims);
        const choice = chooseVictims(host, ledger, request, running, chanceOf(seed));
        const lower = running.filter(({ precedence }) => precedence < request.precedence);
        const possible = !fits(host, ledger, request) && fits(host, without(ledger, lower), request);
        expect(choice !== null).toBe(possible);
        if (choice === null) return;
        const { victims, placement } = choice;
        for (const victim of victims) expect(victim.precedence).toBeLessThan(request.precedence);
        const claim = makeClaim('new', host.id, { resources: request.ask.resources, ...placement });
        expect(fitShortfall(host, without(ledger, victims), claim)).toBeNull();
        for (const spared of victims)
          expect(
            fits(
              host,
              without(
                ledger,
                victims.filter((one) => one !== spared),
              ),
              request,
            ),
          ).toBe(false);
        const highest = Math.max(...victims.map(({ precedence }) => precedence));
        const below = running.filter(({ precedence }) => precedence < highest);
        expect(fits(host, without(ledger, below), request)).toBe(false);
      }),
    );
  });

  it('takes the smallest one that is enough, not the first', () => {
    const small = makeClaim('small', 'h0', { precedence: 10, resources: amounts(1000, 64) });
    const large = makeClaim('large', 'h0', { precedence: 10, resources: amounts(3000, 64) });
    const ledger = withClaim(withClaim(EMPTY_LEDGER, large), small);
    const request = makeRequest({ resources: amounts(900, 64) });
    const choose = (asked: PlacementRequest) =>
      chooseVictims(host, ledger, asked, [large, small], chanceOf(1))?.victims.map(({ id }) => id);
    expect(choose(request)).toEqual(['small']);
    expect(choose(makeRequest({ resources: amounts(3000, 64) }))).toEqual(['large']);
  });

  it('passes over what the ledger no longer holds', () => {
    const here = makeClaim('here', 'h0', { precedence: 10, resources: amounts(4000, 64) });
    const gone = makeClaim('gone', 'h0', { precedence: 0, resources: amounts(4000, 64) });
    const ledger = withClaim(EMPTY_LEDGER, here);
    const choice = chooseVictims(
      host,
      ledger,
      makeRequest(),
      [gone, here, { ...here, id: 'twice' }],
      chanceOf(1),
    );
    expect(choice?.victims).toHaveLength(1);
    expect(choice?.victims[0]?.precedence).toBe(10);
  });
});
