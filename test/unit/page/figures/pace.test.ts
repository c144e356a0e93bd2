import { expect, it } from 'vitest';
import { Pace } from '../../../../page/figures/pace.ts';

it('28 what is quickly loaded is loaded a second later when something happens, and else as often as its view says', () => {
  const pace = new Pace(5_000);
  expect(pace.soonAtMs).toBe(0);
  pace.loaded(10_000, 10_020);
  expect([pace.soonAtMs, pace.dueAtMs]).toEqual([11_020, 15_020]);
});

it('28 what takes long is loaded less often, but not never', () => {
  const pace = new Pace(5_000);
  pace.loaded(10_000, 11_000);
  expect([pace.soonAtMs, pace.dueAtMs]).toEqual([19_000, 19_000]);
  pace.loaded(20_000, 60_000);
  expect(pace.dueAtMs).toBe(90_000);
});
