import { describe, expect, it } from 'vitest';
import type { Delegation } from '../../../../src/core/access/delegation.ts';
import { askedText, DELEGATION_TTL_MS, delegationRefusal } from '../../../../src/core/access/delegation.ts';
import { CLOCK_TOLERANCE_MS } from '../../../../src/core/quota/ticket.ts';

const BEGINS_MS = 1_700_000_000_000;
const ENDS_MS = BEGINS_MS + DELEGATION_TTL_MS;
const ASK = { host: 'h1', allocation: 'a1', act: 'exec', request: 'ab'.repeat(32) } as const;
const DELEGATION: Delegation = {
  ...{ ...ASK, by: 'token/ann' },
  ...{ notBeforeMs: BEGINS_MS, expiresMs: ENDS_MS },
};

describe('S4.13 a delegation', () => {
  it('lets what it names be done, as long as it counts and clocks may differ', () => {
    for (const nowMs of [BEGINS_MS - CLOCK_TOLERANCE_MS, BEGINS_MS, ENDS_MS + CLOCK_TOLERANCE_MS])
      expect(delegationRefusal(DELEGATION, ASK, nowMs)).toBeNull();
  });

  it.each([
    ['other-host', { host: 'h2' }, 0],
    ['other-allocation', { allocation: 'a2' }, 0],
    ['other-act', { act: 'signal' }, 0],
    ['other-request', { request: 'cd'.repeat(32) }, 0],
    ['counts-too-long', { expiresMs: ENDS_MS + 1 }, 0],
    ['not-yet-valid', {}, -CLOCK_TOLERANCE_MS - 1],
    ['expired', {}, DELEGATION_TTL_MS + CLOCK_TOLERANCE_MS + 1],
  ] as const)('is refused as %s', (why, changes, afterMs) => {
    expect(delegationRefusal({ ...DELEGATION, ...changes }, ASK, BEGINS_MS + afterMs)).toBe(why);
  });

  it('is for one request, in whatever order its fields come, and no other', () => {
    const text = askedText({ query: { task: 'main', input: 'take' }, body: { b: 1, a: 2 } });
    expect(askedText({ body: { a: 2, b: 1 }, query: { input: 'take', task: 'main' } })).toBe(text);
    expect(askedText({ query: {} })).toBe(askedText({ query: {}, body: null }));
    expect(askedText({ query: { task: 'main', input: 'free' }, body: { b: 1, a: 2 } })).not.toBe(text);
    expect(askedText({ command: 'c1', query: {} })).not.toBe(askedText({ command: 'c2', query: {} }));
  });
});
