import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answerText, isFenced, withFenceAnswer } from '../../../../src/core/host/fences.ts';
import type { Eligibility, FenceAnswer } from '../../../../src/core/host/host.ts';

const LOST: Eligibility = { state: 'lost', reason: '', by: 'm1', sinceMs: 1_000, counter: 5 };
const YES: FenceAnswer = { confirmed: true, counter: 5, detail: 'off', by: 'm1', atMs: 2_000 };
const NO: FenceAnswer = { ...YES, confirmed: false, detail: 'exit 1' };
const under = (counter: number) => ({ epoch: { incarnation: 'i', counter } });

describe('what a fence has confirmed', () => {
  it('S0.34 I72 holds of what was committed before the verdict, of a lost host, by one of the names', () => {
    const fenced: Eligibility = { ...LOST, fences: { power: YES, network: NO } };
    expect(isFenced(fenced, ['power'], under(4))).toBe(true);
    expect(isFenced(fenced, ['network', 'power'], under(0))).toBe(true);
    expect(isFenced(fenced, ['network'], under(4))).toBe(false);
    expect(isFenced(fenced, ['other'], under(4))).toBe(false);
    expect(isFenced(fenced, [], under(4))).toBe(false);
    expect(isFenced(fenced, ['power'], under(5))).toBe(false);
    expect(isFenced({ ...fenced, state: 'ready' }, ['power'], under(4))).toBe(false);
    expect(isFenced(undefined, ['power'], under(4))).toBe(false);
    expect(isFenced({ ...LOST, confirmed: 'lost' }, ['power'], under(4))).toBe(false);
    expect(isFenced({ ...LOST, confirmed: 'removed' }, ['power'], under(4))).toBe(true);
  });

  it('I72 is bound to its verdict, and stays', () => {
    expect(withFenceAnswer(LOST, 'power', NO)).toEqual({ power: NO });
    const known = { ...LOST, fences: { power: NO } };
    expect(withFenceAnswer(known, 'power', YES)).toEqual({ power: YES });
    expect(withFenceAnswer({ ...LOST, fences: { power: YES } }, 'power', NO)).toEqual({ power: YES });
    expect(withFenceAnswer({ ...LOST, counter: 7 }, 'power', YES)).toBeNull();
    expect(withFenceAnswer({ ...LOST, state: 'ready' }, 'power', YES)).toBeNull();
  });

  it('I72 nothing that is committed after a verdict is ever fenced by it, however late a reader is', () => {
    const change = fc.constantFrom<'lost' | 'ready' | 'fence' | 'place'>('lost', 'ready', 'fence', 'place');
    const law = fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
      let now: Eligibility = { ...LOST, state: 'ready', counter: 0 };
      const seen: Eligibility[] = [];
      for (const what of changes) {
        if (what === 'fence') {
          const fences = withFenceAnswer(now, 'power', { ...YES, counter: now.counter });
          if (fences !== null) now = { ...now, fences };
        } else if (what === 'place') {
          if (now.state !== 'ready') continue;
          for (const old of seen) expect(isFenced(old, ['power'], under(now.counter))).toBe(false);
        } else if (what !== now.state) {
          now = { ...LOST, state: what, counter: now.counter + 1 };
        }
        seen.push(now);
      }
    });
    fc.assert(law);
  });

  it('S0.34 says what it answered', () => {
    expect(answerText('power', NO, 5_000)).toBe('power: not confirmed 3 s ago by m1: exit 1');
    expect(answerText('power', YES, 0)).toBe('power: confirmed 0 s ago by m1: off');
  });
});
