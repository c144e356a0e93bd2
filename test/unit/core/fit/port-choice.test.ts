import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CellState } from '../../../../src/core/cell-state/cell-state.ts';
import type { HostSlot } from '../../../../src/core/cell-state/host-slot.ts';
import { EMPTY_LEDGER } from '../../../../src/core/fit/ledger.ts';
import { choosePorts } from '../../../../src/core/fit/port-choice.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';

const RANGE = { first: 20_000, last: 20_005 };
const portsOf = fc.uniqueArray(fc.integer({ min: RANGE.first, max: RANGE.last }));

describe('which port a task gets', () => {
  it('S1.3 S1.38 what was freed is chosen last, and of that what was freed first', () => {
    fc.assert(
      fc.property(portsOf, portsOf, fc.nat(), (used, freed, seed) => {
        const chosen = choosePorts({ http: 0 }, RANGE, new Set(used), seededRandom(seed), freed);
        const all = Array.from({ length: 6 }, (_, n) => RANGE.first + n).filter(
          (port) => !used.includes(port),
        );
        const fresh = all.filter((port) => !freed.includes(port));
        const oldest = freed.find((port) => all.includes(port));
        if ('missing' in chosen) expect(all).toEqual([]);
        else if (fresh.length > 0) expect(fresh).toContain(chosen.ports['http']);
        else expect(chosen.ports['http']).toBe(oldest);
      }),
    );
  });

  it('S1.3 a scheduler remembers what it saw become free, in order, until it is in use again', () => {
    const state = new CellState();
    const ledgers = [[20_001, 20_002, 20_003], [20_001, 20_003], [20_003], [20_002, 20_003], []];
    const seen = ledgers.map((ports, n) => {
      state.setLedger('host-a', { ...EMPTY_LEDGER, ports }, n + 1);
      return [...((state.known('host-a') as HostSlot).freed ?? [])];
    });
    expect(seen).toEqual([[], [20_002], [20_002, 20_001], [20_001], [20_001, 20_002, 20_003]]);
  });
});
