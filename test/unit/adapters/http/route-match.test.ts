import { expect, it } from 'vitest';
import { matchRoute } from '../../../../src/adapters/http/route-match.ts';

const ROUTES = [{ path: '/v1/allocations/:id/attach' }, { path: '/v1/allocations/all/attach' }];

it('a fixed part of a path goes before a parameter, which is decoded', () => {
  expect(matchRoute(ROUTES, 'GET', '/v1/allocations/all/attach?a=b')).toEqual({
    route: ROUTES[1],
    values: { params: {}, query: { a: 'b' } },
  });
  expect(matchRoute(ROUTES, 'GET', '/v1/allocations/a%20b/attach')?.values.params).toEqual({ id: 'a b' });
  expect(matchRoute(ROUTES, 'POST', '/v1/allocations/a/attach')).toBeNull();
});

it.each(['%', '%zz', '%2', '%ff%fe', '%c0%af'])(
  'S4.13 a part that is no text, %s, leads to no route',
  (part) => {
    expect(matchRoute(ROUTES, 'GET', `/v1/allocations/${part}/attach`)).toBeNull();
  },
);
