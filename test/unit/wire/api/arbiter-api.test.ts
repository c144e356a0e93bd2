import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ProblemError } from '../../../../src/wire/api/problem.ts';
import { readTicketRequest, requestFor, unitsOf } from '../../../../src/wire/api/arbiter-api.ts';
import { someTerms } from '../../../support/tickets.ts';

const sizes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 8 });
const unitsOfSizes = (of: readonly number[]) =>
  of.map((size, unit) =>
    Array.from({ length: size }, (_, n) => {
      const terms = someTerms();
      return { ...terms, claim: { ...terms.claim, id: `a${String(unit)}-${String(n)}` } };
    }),
  );

describe('a request for tickets', () => {
  it('keeps what belongs together', () => {
    fc.assert(
      fc.property(sizes, (of) => {
        const units = unitsOfSizes(of);
        const body: unknown = JSON.parse(JSON.stringify(requestFor(someTerms().scheduler, units)));
        expect(unitsOf(readTicketRequest(body, null))).toEqual(units);
      }),
    );
  });

  it('I39 S4.13 is read in no other name than that of the certificate', () => {
    const { scheduler } = someTerms();
    const request = requestFor(scheduler, unitsOfSizes([1]));
    const peer = { cell: 'c', role: 'scheduler', id: scheduler } as const;
    expect(readTicketRequest(request, peer).placements).toHaveLength(1);
    const read = (): unknown => readTicketRequest(request, { ...peer, id: 'another' });
    expect(read).toThrow(
      expect.objectContaining({
        problem: expect.objectContaining({ status: 403, code: 'not-yours' }) as unknown,
      }),
    );
  });

  it.each([
    ['one that is not there', [{ first: 1, count: 3 }], 'together.0'],
    [
      'one twice',
      [
        { first: 0, count: 2 },
        { first: 1, count: 2 },
      ],
      'together.1',
    ],
    ['none', [{ first: 0, count: 0 }], 'together.0.count'],
  ])('names the place where it puts %s together', (_, together, path) => {
    const request = { ...requestFor(someTerms().scheduler, unitsOfSizes([1, 1, 1])), together };
    const read = (): unknown => readTicketRequest(request, null);
    expect(read).toThrow(ProblemError);
    expect(read).toThrow(expect.objectContaining({ problem: expect.objectContaining({ path }) as unknown }));
  });
});
