import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import type { Ledger } from '../../src/core/fit/ledger.ts';
import { EMPTY_LEDGER, withClaim } from '../../src/core/fit/ledger.ts';
import { NO_SCALARS } from '../../src/core/cell/resources.ts';
import { seededRandom } from '../../src/core/random/random.ts';
import type { CellStore, Write } from '../../src/ports/cell-store.ts';
import { allocationCodec, hostCodec, ledgerCodec, ownerCodec } from '../../src/wire/records/records.ts';
import { hostOf } from './whole-commits.ts';

/** Allocations on each host; with their sizes drawn by chance they take half of it on average. */
const EACH = 4;
const WRITERS = 4;

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
  const together = Math.floor(store.limits.operationsMax / (EACH + 2));
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < hosts) {
      const first = next;
      next = Math.min(hosts, first + together);
      const writes: Write[] = [];
      for (let n = first; n < next; n++) writes.push(...writesOf(keys, n, (bound) => random.below(bound)));
      const { outcome } = await store.attempt({ compares: [], writes, readBack: [] });
      if (outcome !== 'applied') throw new Error(`the cell could not be filled: ${outcome}`);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, lane));
}

function writesOf(keys: CellKeys, n: number, below: (bound: number) => number): Write[] {
  const host = hostOf(n);
  let ledger: Ledger = EMPTY_LEDGER;
  const writes: Write[] = [{ kind: 'put', key: keys.host(host.id), value: hostCodec.encode(host) }];
  for (let index = 0; index < EACH; index++) {
    const allocation: Allocation = {
      ...{ id: `fill-${host.id}-${String(index)}`, host: host.id, precedence: 50, gpus: [], ports: {} },
      resources: { cpuMilli: below(16_000), memoryMib: below(65_000), diskMib: 0, scalars: NO_SCALARS },
      ...{ namespace: 'default', job: 'fill', jobVersion: 1, group: host.id, index, attempt: 1 },
      ...{ scheduler: 'fill', desired: 'run', planId: 'fill', createdAtMs: 1_700_000_000_000 },
      epoch: { incarnation: '6b1e7a3c-0000-4000-8000-000000000000', counter: 0 },
    };
    ledger = withClaim(ledger, allocation);
    const key = keys.allocation('default', 'fill', allocation.id);
    writes.push({ kind: 'put', key, value: allocationCodec.encode(allocation) });
  }
  writes.push({ kind: 'put', key: keys.ledger(host.id), value: ledgerCodec.encode(ledger) });
  return writes;
}
