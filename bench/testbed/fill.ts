import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import { EMPTY_LEDGER, withClaim } from '../../src/core/fit/ledger.ts';
import type { Host } from '../../src/core/host/host.ts';
import type { CellStore, Write } from '../../src/ports/cell-store.ts';
import { allocationCodec, hostCodec, ledgerCodec } from '../../src/wire/records/records.ts';

const WRITERS = 8;

/** Writes the records of `hosts` hosts, in order: those of one host in one transaction, and each as large as the store takes. */
export async function fill(
  store: CellStore,
  hosts: number,
  writesOf: (n: number) => readonly Write[],
): Promise<void> {
  let next = 0;
  let held: readonly Write[] = [];
  const take = (): Write[] => {
    const writes = [...held];
    for (held = []; next < hosts; writes.push(...held)) {
      held = writesOf(next++);
      if (writes.length + held.length > store.limits.operationsMax) return writes;
    }
    held = [];
    return writes;
  };
  const lane = async (): Promise<void> => {
    for (let writes = take(); writes.length > 0; writes = take()) {
      const { outcome } = await store.attempt({ compares: [], writes, readBack: [] });
      if (outcome !== 'applied') throw new Error(`the cell could not be filled: ${outcome}`);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, lane));
}

/** A host, its allocations, and the ledger that is their sum. */
export function recordsOf(keys: CellKeys, host: Host, allocations: readonly Allocation[]): Write[] {
  const put = (key: string, value: string): Write => ({ kind: 'put', key, value });
  return [
    put(keys.host(host.id), hostCodec.encode(host)),
    ...allocations.map((one) =>
      put(keys.allocation(one.namespace, one.job, one.id), allocationCodec.encode(one)),
    ),
    put(keys.ledger(host.id), ledgerCodec.encode(allocations.reduce(withClaim, EMPTY_LEDGER))),
  ];
}

/** An allocation of a job that is not measured. */
export function makeAllocation(
  part: Pick<Allocation, 'id' | 'host' | 'precedence' | 'resources' | 'job' | 'group' | 'index'> &
    Partial<Allocation>,
): Allocation {
  return {
    ...{ gpus: [], ports: {}, namespace: 'default', jobVersion: 1, attempt: 1 },
    ...{ scheduler: 'fill', desired: 'run', planId: 'fill', createdAtMs: 1_700_000_000_000 },
    epoch: { incarnation: '6b1e7a3c-0000-4000-8000-000000000000', counter: 0 },
    ...part,
  };
}
