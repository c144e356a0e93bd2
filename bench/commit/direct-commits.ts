import type { CellStore, Compare, Write } from '../../src/ports/cell-store.ts';
import type { WriterOptions } from './raw-commits.ts';
import { ALLOCATION, LEDGER, ledgerKeysOf, writeInLanes } from './raw-commits.ts';

/** The raw writer's transactions, given to the cell store: what our own way to etcd costs without any scheduling. */
export function makeDirectWriter(options: WriterOptions & { readonly store: CellStore }): {
  write(placements: number): Promise<void>;
} {
  const { store, keys, hosts, together } = options;
  const ledgerKeys = ledgerKeysOf(options);
  const revisions = new Float64Array(hosts);
  const owner = keys.owner('default', 'bench');
  const ledger = LEDGER.toString();
  const allocation = ALLOCATION.toString();
  let made = 0;

  async function transaction(first: number): Promise<void> {
    const compares: Compare[] = [{ key: owner, target: 'createRevision', equals: 0 }];
    const writes: Write[] = [];
    const readBack = [owner];
    for (let n = first; n < first + together; n++) {
      const key = ledgerKeys[n] ?? '';
      compares.push({ key, target: 'modRevision', equals: revisions[n] ?? 0 });
      writes.push({ kind: 'put', key, value: ledger });
      readBack.push(key);
    }
    for (let n = 0; n < together; n++) {
      const key = keys.allocation('default', 'bench', `alloc-${String((made += 1)).padStart(18, '0')}`);
      writes.push({ kind: 'put', key, value: allocation });
    }
    const reply = await store.attempt({ compares, writes, readBack });
    if (reply.outcome !== 'applied') throw new Error(`a direct transaction was ${reply.outcome}`);
    revisions.fill(reply.revision, first, first + together);
  }

  return { write: (placements) => writeInLanes(placements, options, transaction) };
}
