import { describe, expect, it } from 'vitest';
import { hashOf, HOME, routeOf, tokenIn, VIEWS } from '../../../../page/figures/route.ts';

describe('28 the address of a view', () => {
  it.each(VIEWS)('%s is found again by its own address', (view) => {
    const route = { view, parts: ['a/b', 'c'], query: { filter: 'x y&z' } };
    expect(routeOf(hashOf(view, route.parts, route.query))).toEqual(route);
  });

  it.each(['', '#', '#/', '#/nothing-of-ours', '#token=x'])('%s means the cell', (hash) => {
    expect(routeOf(hash)).toEqual(HOME);
  });

  it('a part that cannot be decoded stays as it is', () => {
    expect(routeOf('#/jobs/%E0%A4%A/x').parts).toEqual(['%E0%A4%A', 'x']);
  });

  it('takes a token from a link, and nothing else for one', () => {
    expect(tokenIn('#token=moorage.01abc.s-3_cret')).toBe('moorage.01abc.s-3_cret');
    for (const hash of ['#token=', '#token=a b', '#/jobs?token=x', `#token=${'x'.repeat(300)}`])
      expect(tokenIn(hash)).toBeNull();
  });
});
