import { describe, expect, it } from 'vitest';
import { failPointsOf, readFailOrders } from '../../../../src/runtime/faults/orders.ts';

const POINT = 'scheduler/store.attempt/allocs+ledger:after';
const ROUTE = 'agent/server.route/put.allocations.id:before';

describe('what MOORAGE_FAILPOINT says', () => {
  it('is read as name, which time, and what happens', () => {
    expect(readFailOrders(`${POINT}:2:kill, ${ROUTE}:1:stall=0.5,${ROUTE}:3:stall,${POINT}:1:throw`)).toEqual(
      [
        { name: POINT, nth: 2, action: { kind: 'kill' } },
        { name: ROUTE, nth: 1, action: { kind: 'stall', seconds: 0.5 } },
        { name: ROUTE, nth: 3, action: { kind: 'stall', seconds: 5 } },
        { name: POINT, nth: 1, action: { kind: 'throw' } },
      ],
    );
  });

  it('is refused when a name is misspelt, with the nearest names', () => {
    expect(() => readFailOrders('scheduler/store.atempt/allocs+ledger:after:1:kill')).toThrow(
      /no fail-point.*the nearest are scheduler\/store\.attempt\/allocs\+ledger:after,/,
    );
  });

  it.each([
    '',
    ':1:kill',
    `${POINT}:0:kill`,
    `${POINT}:1:explode`,
    `${POINT}:1:kill=3`,
    `${POINT}:1:stall=99999`,
    POINT,
  ])('refuses or ignores what is no order: %s', (text) => {
    if (text === '') expect(readFailOrders(text)).toEqual([]);
    else expect(() => readFailOrders(text)).toThrow();
  });

  it('fails at the nth time and only then, and not at all when nothing is ordered', () => {
    const world = {
      ...{ seen: null, kill: () => Promise.resolve(), sleep: () => Promise.resolve(), fires: () => true },
      ...{ counts: () => true, orders: `${POINT}:2:throw` },
    };
    const points = failPointsOf(world);
    expect([1, 2, 3].map(() => points?.reach(POINT))).toEqual([null, { kind: 'throw' }, null]);
    expect(failPointsOf({ ...world, orders: undefined })).toBeNull();
  });

  it('counts from when the world says so', () => {
    let counts = false;
    const points = failPointsOf({
      ...{ seen: null, kill: () => Promise.resolve(), sleep: () => Promise.resolve(), fires: () => true },
      ...{ counts: () => counts, orders: `${POINT}:1:throw` },
    });
    expect(points?.reach(POINT)).toBeNull();
    counts = true;
    expect(points?.reach(POINT)).toEqual({ kind: 'throw' });
  });
});
