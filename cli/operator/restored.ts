import { randomUUID } from 'node:crypto';
import { EtcdCellStore } from '../../src/adapters/etcd/etcd.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import { renewMeta } from '../../src/runtime/records/cell-meta.ts';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';
import type { StoreFlags } from './store-flags.ts';
import { storeOf } from './store-flags.ts';

/**
 * Gives the cell a new incarnation after its store was restored or made anew. Only an operator can tell an empty store from a
 * new cell. See docs/restoring.md.
 */
export async function restored(context: Context, options: StoreFlags): Promise<number> {
  const { etcd, cell, credentials } = storeOf(context, options, 'restored');
  const store = new EtcdCellStore({ endpoints: etcd, credentials, clock: systemClock, log: silentLog });
  try {
    const maker = { nowMs: context.terminal.nowMs(), makeUuid: randomUUID };
    const { incarnation } = await renewMeta(store, cellKeys(cell), maker);
    context.terminal.out(
      `cell "${cell}" goes on as incarnation ${incarnation}; its schedulers ask the hosts before they place anything\n`,
    );
    return EXIT.ok;
  } finally {
    await store.close();
  }
}
