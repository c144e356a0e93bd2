import { describe, expect, it } from 'vitest';
import { baseline, crashAt } from '../../sim/sweep/sweep.ts';

/** Few enough for a second or two; `npm run sweep` takes all of them. */
const CRASHES = 24;

describe('S0.7 S1.22 S1.37 I56 a role that is killed anywhere and started again', () => {
  it('leaves the same end as a run without a crash', async () => {
    const { end, points, events } = await baseline();
    expect(events).toBeGreaterThan(400);
    expect(Object.keys(end.jobs).length).toBe(7);
    // Each role has its turn, at places all over the run.
    const chosen = points.filter((_, at) => at % Math.floor(points.length / CRASHES) === 0);
    expect(new Set(chosen.map(({ actor }) => actor)).size).toBeGreaterThan(4);
    const wrong: unknown[] = [];
    for (const point of chosen) {
      const found = await crashAt(point, end);
      if (found.length > 0) wrong.push({ ...point, found });
    }
    expect(wrong).toEqual([]);
  }, 60_000);
});
