import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DESIRED_STATES } from '../../src/core/cell/allocation.ts';
import { ROLLOUT_STATES } from '../../src/core/cell/rollout.ts';
import { ELIGIBILITY } from '../../src/core/host/host.ts';
import { mayMove, OBSERVED_STATES } from '../../src/core/host/states.ts';
import { JOB_PHASES } from '../../src/wire/api/monitor-api.ts';
import { PROJECT_ROOT } from '../support/cli.ts';

const TEXT = readFileSync(join(PROJECT_ROOT, 'docs', 'states.md'), 'utf8');

/** Of the table under a heading: where each state moves to. */
function movesIn(heading: string): ReadonlyMap<string, readonly string[]> {
  const section = TEXT.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
  return new Map(
    [...section.matchAll(/^\| `(\w+)` \|[^|]*\|([^|]*)\|/gm)].map(([, state = '', to = '']) => [
      state,
      [...to.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
    ]),
  );
}

describe('S3.41 the table of states', () => {
  it.each([
    ['Job', JOB_PHASES],
    ['Update', ROLLOUT_STATES],
    ['Allocation, as desired', DESIRED_STATES],
    ['Allocation, as observed', OBSERVED_STATES],
    ['Host', ELIGIBILITY],
  ] as const)('has exactly the states of the sources: %s', (heading, states) => {
    const moves = movesIn(heading);
    expect([...moves.keys()]).toEqual([...states]);
    for (const [from, to] of moves)
      for (const next of to) {
        expect([...moves.keys()]).toContain(next);
        expect(next).not.toBe(from);
      }
  });

  it('I8 has the moves that a host makes, and no other', () => {
    for (const [from, to] of movesIn('Allocation, as observed')) {
      const at = OBSERVED_STATES.find((state) => state === from);
      expect(at).toBeDefined();
      if (at !== undefined) expect(to).toEqual(OBSERVED_STATES.filter((next) => mayMove(at, next)));
    }
  });
});
