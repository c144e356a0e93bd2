import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import type { StartTerms } from '../../../../src/core/quota/ticket.ts';
import { claimOf, ticketRefusal } from '../../../../src/core/quota/ticket.ts';
import { someTerms, someTicket, TICKET_BEGINS_MS, TICKET_ENDS_MS } from '../../../support/tickets.ts';

const terms = someTerms();
const during = TICKET_BEGINS_MS + 1;

describe('ticketRefusal', () => {
  it('permits exactly what the ticket names', () => {
    expect(ticketRefusal(someTicket(), terms, during)).toBeNull();
  });

  it('I36 S4.15 holds from nbf − ε to exp + ε and not one millisecond longer', () => {
    expect(ticketRefusal(someTicket(), terms, TICKET_BEGINS_MS - 2_001)).toBe('not-yet-valid');
    expect(ticketRefusal(someTicket(), terms, TICKET_BEGINS_MS - 2_000)).toBeNull();
    expect(ticketRefusal(someTicket(), terms, TICKET_ENDS_MS + 2_000)).toBeNull();
    expect(ticketRefusal(someTicket(), terms, TICKET_ENDS_MS + 2_001)).toBe('expired');
  });

  it('I37 S4.16 names the host and the incarnation before anything else that is wrong', () => {
    const late = TICKET_ENDS_MS + 10_000;
    expect(ticketRefusal(someTicket(), someTerms({ aud: 'host-b' }), late)).toBe('wrong-host');
    expect(ticketRefusal(someTicket(), someTerms({ hostIncarnation: 4 }), late)).toBe('wrong-incarnation');
    const claimElsewhere = { ...terms.claim, host: 'host-b' };
    expect(ticketRefusal(someTicket({ claim: claimElsewhere }), terms, during)).toBe('wrong-host');
  });

  const others: readonly [string, Partial<StartTerms>][] = [
    ['namespace', { namespace: 'other' }],
    ['job', { job: 'other' }],
    ['scheduler', { scheduler: 'service-2' }],
    ['command', { commandDigest: 'cd'.repeat(32) }],
    ['epoch counter', { epoch: { ...terms.epoch, counter: 1 } }],
    ['cell incarnation', { epoch: { ...terms.epoch, incarnation: 'x' } }],
    ['allocation id', { claim: { ...terms.claim, id: '01k0000000cccccccccccccccc' } }],
    ['more cpu', { claim: { ...terms.claim, resources: { ...terms.claim.resources, cpuMilli: 501 } } }],
    ['less cpu', { claim: { ...terms.claim, resources: { ...terms.claim.resources, cpuMilli: 499 } } }],
    [
      'a scalar more',
      { claim: { ...terms.claim, resources: { ...terms.claim.resources, scalars: { iops: 1 } } } },
    ],
    ['another device', { claim: { ...terms.claim, gpus: [{ device: 1, milli: 500 }] } }],
    ['another port', { claim: { ...terms.claim, ports: { http: 20_002 } } }],
    ['another port label', { claim: { ...terms.claim, ports: { https: 20_001 } } }],
    ['a higher precedence', { claim: { ...terms.claim, precedence: 51 } }],
  ];
  it.each(others)('I39 S4.17 refuses another request: %s', (_what, changes) => {
    expect(ticketRefusal(someTicket(), someTerms(changes), during)).toBe('other-request');
  });

  it('I39 does not depend on the order in which fields were written, nor on what else an allocation carries', () => {
    const { scalars, diskMib, memoryMib, cpuMilli } = terms.claim.resources;
    const turned = {
      ...claimOf(terms.claim),
      resources: { scalars, diskMib, memoryMib, cpuMilli },
      index: 4,
    };
    expect(ticketRefusal(someTicket(), someTerms({ claim: turned }), during)).toBeNull();
  });

  it('never permits outside the tolerance, whatever the clock says', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 * TICKET_ENDS_MS }), (nowMs) => {
        const inside = nowMs >= TICKET_BEGINS_MS - 2_000 && nowMs <= TICKET_ENDS_MS + 2_000;
        expect(ticketRefusal(someTicket(), terms, nowMs) === null).toBe(inside);
      }),
    );
  });
});
