import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/adapters/system/clock.ts';
import { cellKeys } from '../../src/core/keys.ts';
import { seededRandom } from '../../src/core/seeded-random.ts';
import { tryGangs } from '../contract/large-gangs.ts';
import { useEtcd } from '../support/etcd.ts';
import { mortal } from '../support/mortal-store.ts';

const etcd = useEtcd();

describe('gangs by intent on etcd', () => {
  for (const seed of [1, 2, 3])
    it(`I6 I55 I1 I3 all of it or nothing, whoever dies or sweeps at whatever time, seed ${String(seed)}`, async () => {
      const result = await tryGangs({
        ...{ random: seededRandom(seed), clock: systemClock, keys: cellKeys(etcd.cellName()) },
        ...{ direct: etcd.store(), jobs: 3, lives: 8 },
        storeOf: (deadAfter) =>
          mortal(etcd.store({ limits: { operationsMax: 7, bytesMax: 1_000_000 } }), deadAfter),
        landed: () => Promise.resolve(),
      });
      expect(result.faults).toEqual([]);
      expect(result.made).toBeGreaterThan(0);
      expect(result.givenUp + result.cutShort).toBeGreaterThan(0);
      expect(result.evicted).toBeGreaterThan(0);
    }, 60_000);
});
