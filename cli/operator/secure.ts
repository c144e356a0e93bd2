import { randomUUID } from 'node:crypto';
import { EtcdCellStore } from '../../src/adapters/etcd/etcd.ts';
import type { SecuredStore } from '../../src/adapters/etcd/rights.ts';
import { secureStore } from '../../src/adapters/etcd/rights.ts';
import type { Credentials } from '../../src/adapters/pki/credentials.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { storeAreas } from '../../src/core/access/store-rights.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import { openMeta } from '../../src/runtime/records/cell-meta.ts';

export interface CellStoreReach {
  readonly endpoints: readonly string[];
  readonly cell: string;
  readonly credentials: Credentials;
}

/**
 * Makes the users of the cell's store, and the cell itself where the store holds none: its roles may not.
 * @param incarnation of a cell that is made now; absent: one is drawn
 * @throws StoreError, SchemaError
 */
export async function secureCellStore(
  reach: CellStoreReach,
  nowMs: number,
  incarnation?: string,
): Promise<SecuredStore> {
  const { endpoints, cell, credentials } = reach;
  const secured = await secureStore({ endpoints, credentials }, storeAreas(cellKeys(cell)));
  const store = new EtcdCellStore({ endpoints, credentials, clock: systemClock, log: silentLog });
  try {
    await openMeta(store, cellKeys(cell), { nowMs, makeUuid: () => incarnation ?? randomUUID() });
  } finally {
    await store.close();
  }
  return secured;
}
