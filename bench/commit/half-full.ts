import type { CellKeys } from '../../src/core/cell/keys.ts';
import { seededRandom } from '../../src/core/random/random.ts';
import type { CellStore } from '../../src/ports/cell-store.ts';
import { ownerCodec } from '../../src/wire/records/records.ts';
import { fill, makeAllocation, recordsOf } from '../testbed/fill.ts';
import { amounts } from '../testbed/plain-request.ts';
import { hostOf } from './whole-commits.ts';

/** Allocations on each host; with their sizes drawn by chance they take half of it on average. */
const EACH = 4;

/**
 * Writes a cell whose hosts are half full, each to another degree: registrations, ledgers, and the allocations that the
 * ledgers are the sum of.
 */
export async function fillHalf(store: CellStore, keys: CellKeys, hosts: number, seed: number): Promise<void> {
  const random = seededRandom(seed);
  const owner = { scheduler: 'fill', kind: 'batch' as const, sinceMs: 1_700_000_000_000 };
  const key = keys.owner('default', 'fill');
  await store.attempt({
    compares: [],
    writes: [{ kind: 'put', key, value: ownerCodec.encode(owner) }],
    readBack: [],
  });
  await fill(store, hosts, (n) => {
    const host = hostOf(n);
    const allocations = Array.from({ length: EACH }, (_, index) =>
      makeAllocation({
        ...{ id: `fill-${host.id}-${String(index)}`, host: host.id, precedence: 50 },
        resources: amounts(random.below(16_000), random.below(65_000)),
        ...{ job: 'fill', group: host.id, index },
      }),
    );
    return recordsOf(keys, host, allocations);
  });
}
