import fc from 'fast-check';
import { expect, it } from 'vitest';
import { MemoryCell } from '../../../../src/adapters/memory/cell.ts';
import { MemoryCellStore } from '../../../../src/adapters/memory/memory.ts';
import { cellKeys } from '../../../../src/core/cell/keys.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import { tryGangs } from '../../../contract/large-gangs.ts';
import type { AttemptFault } from '../../../support/faulty-store.ts';
import { FaultyStore } from '../../../support/faulty-store.ts';
import { InstantClock } from '../../../support/instant-clock.ts';
import { mortal } from '../../../support/mortal-store.ts';

const FAULTS: readonly AttemptFault[] = ['reply-lost', 'request-lost', 'lands-late', 'unavailable'];

it('I6 I55 I1 I3 all of a gang by intent or nothing, whichever process dies or sweeps at whatever time, with a store that fails', async () => {
  const seen = { made: 0, givenUp: 0, cutShort: 0, evicted: 0, kept: 0 };
  await fc.assert(
    fc.asyncProperty(fc.integer(), fc.integer({ min: 0, max: 30 }), async (seed, faultPercent) => {
      const random = seededRandom(seed);
      const clock = new InstantClock();
      const cell = new MemoryCell({ clock });
      // Few operations, so that even a small gang takes several transactions.
      const plain = () => new MemoryCellStore({ clock, cell, limits: { operationsMax: 12, bytesMax: 1e6 } });
      const all: FaultyStore[] = [];
      const result = await tryGangs({
        ...{ random, clock, keys: cellKeys('test'), direct: plain(), jobs: 3, lives: 4 },
        landed: async () => {
          for (const store of all) await store.landed();
        },
        storeOf: (deadAfter) => {
          const faulty = new FaultyStore(plain(), random);
          all.push(faulty);
          faulty.next = () =>
            random.below(100) < faultPercent ? (FAULTS[random.below(FAULTS.length)] ?? null) : null;
          return mortal(faulty.store, deadAfter);
        },
      });
      expect(result.faults).toEqual([]);
      for (const what of ['made', 'givenUp', 'cutShort', 'evicted', 'kept'] as const)
        seen[what] += result[what];
    }),
    { numRuns: 60 },
  );
  // Nothing was shown if one of these never happened.
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(5);
});
