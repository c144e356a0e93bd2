import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/adapters/system/system.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import type { Atomicity, PartOutcome } from '../../src/core/commit/plan.ts';
import { PoolBook } from '../../src/core/quota/pool-book.ts';
import type { SharedResource } from '../../src/core/quota/shared-resource.ts';
import { seededRandom } from '../../src/core/random/random.ts';
import type { Revision } from '../../src/ports/cell-store.ts';
import { LedgerBook } from '../../src/core/commit/ledger-book.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { Replies } from '../../src/runtime/commit/replies.ts';
import { Table } from '../../src/runtime/records/records.ts';
import { allocationCodec, sharedResourceCodec } from '../../src/wire/records/records.ts';
import { audit, committerWorld, own, planOf, testAllocation, testHost } from '../support/commit-world.ts';
import { useEtcd } from '../support/etcd.ts';

const etcd = useEtcd();
const SEED = 20_260_801;
/** Less than the schedulers want, so that they meet there too. */
const SHARED: readonly SharedResource[] = [
  { name: 'uplink', unit: 'Mbit/s', by: 'host.rack', capacity: 700, capacities: {} },
  { name: 'power', unit: 'W', by: null, capacity: 800, capacities: {} },
];

describe('commits of several schedulers against one etcd', () => {
  for (const conflictCheck of ['resource-fit', 'version'] as const) {
    it(`I1 I3 I6 S3.15 S3.33 hold at every revision under ${conflictCheck}, seed ${String(SEED)}`, async () => {
      const keys = cellKeys(etcd.cellName());
      const random = seededRandom(SEED);
      const ids = Array.from({ length: 20 }, (_, n) => `h${String(n)}`);
      const hosts = new Map(
        ids.map((id, n) => [id, testHost(id, { attributes: { rack: `r${String(n % 3)}` } })]),
      );
      const direct = etcd.store();
      const { revision: before } = await direct.read([]);
      const resources = SHARED.map((resource) => ({
        kind: 'put' as const,
        key: keys.sharedResource(resource.name),
        value: sharedResourceCodec.encode(resource),
      }));
      await direct.attempt({ compares: [], writes: resources, readBack: [] });
      const ends: { id: string; end: PartOutcome }[] = [];
      const schedulers = ['a', 'b', 'c'].map(async (job) => {
        const store = etcd.store();
        const pools = new PoolBook();
        const operators = await store.list(keys.shared);
        const replies = new Replies({ keys, pools, book: new LedgerBook(), log: silentLog });
        for (const { name } of SHARED) replies.readResource(name, operators);
        const world = committerWorld({
          store,
          keys,
          hosts,
          clock: systemClock,
          random,
          conflictCheck,
          pools,
        });
        await own(direct, keys, world, job);
        const mine = new Table(store, keys.allocationsOf('default', job), allocationCodec);
        await mine.ready;
        const open: Promise<void>[] = [];
        for (let n = 0; n < 60; n++) {
          const atomicity: Atomicity = random.below(5) === 0 ? 'all-or-nothing' : 'incremental';
          const places = Array.from({ length: 1 + random.below(6) }, (_, index) => {
            const at = random.below(ids.length);
            const shared = [{}, { shared: { [`uplink/r${String(at % 3)}`]: 100, 'power/cell': 50 } }][n % 2];
            const id = `${job}-${String(n)}-${String(index)}`;
            return testAllocation(id, ids[at] ?? 'h0', { job, ...shared });
          });
          const releases = [...mine.rows()]
            .slice(0, random.below(8))
            .map(([, row]) => ({ allocation: row.value, revision: row.modRevision, outcome: null }));
          const plan = planOf(`${job}-${String(n)}`, { atomicity, places, releases });
          const committed = world.committer.commit(plan).then((outcome) => {
            for (const { id } of places) ends.push({ id, end: outcome.get(id)! });
            if (atomicity !== 'all-or-nothing') return;
            expect(
              new Set([...outcome.values()].map((end) => ('revision' in end ? end.revision : 0))).size,
            ).toBe(1);
          });
          open.push(committed);
          if (n % 3 === 0) await committed;
        }
        await Promise.all(open);
        return world.committer.stats;
      });
      const stats = await Promise.all(schedulers);
      const history: Revision[] = [];
      for await (const revision of direct.history(keys.root, before + 1)) history.push(revision);
      const found = audit(history, keys, hosts);
      expect(found.faults).toEqual([]);
      const pools = (await direct.list(keys.pools)).entries;
      expect([...pools.keys()].sort()).toEqual(
        ['power/cell', 'uplink/r0', 'uplink/r1', 'uplink/r2'].map((pool) => keys.pool(pool)),
      );
      for (const { id, end } of ends)
        expect(found.created.get(id)).toBe(end.kind === 'conflicted' ? undefined : end.revision);
      // Nothing was shown if they never met.
      expect(stats.reduce((sum, one) => sum + one.refused, 0)).toBeGreaterThan(0);
      expect(stats.reduce((sum, one) => sum + one.committed, 0)).toBeGreaterThan(20);
      expect(stats.reduce((sum, one) => sum + one.conflicted, 0)).toBeGreaterThan(0);
    });
  }
});
