import { describe, it } from 'vitest';
import { chanceInPartition, PackingChance } from '../../../../schedulers/decide/partition.ts';
import type { Chance } from '../../../../src/core/random/chance.ts';
import { SampledCells, WISHES } from '../../../support/sampled.ts';

/** The law leaves room for chance, so each run draws the same; SEED=... draws others. */
const seed = Number(process.env['SEED'] ?? 1);
process.stderr.write(`samples: seed ${String(seed)}\n`);

const cells = new SampledCells(seed);
const inPart = (chance: Chance): Chance => chanceInPartition(chance, () => ({ index: 1, count: 4 }));

const SEARCHES: Readonly<Record<string, (chance: Chance) => Chance>> = {
  anywhere: (chance) => chance,
  'in the own part of four first': inPart,
  // Places are drawn anew for each search, as their luck is what the promise is about.
  'from a few places': (chance) => new PackingChance(chance),
  'from a few places in the own part': (chance) => new PackingChance(inPart(chance)),
};

describe.each(['binpack', 'spread', 'fgd'] as const)('a sample by %s is as good as it promises', (score) => {
  describe.each(Object.keys(WISHES))('for tasks with %s', (wish) => {
    it.each(Object.entries(SEARCHES))('searched for %s', (_name, searchOf) => {
      cells.expectPromise(score, wish, searchOf);
    });
  });
});
