import { randomUUID } from 'node:crypto';
import { EtcdCellStore } from '../../src/adapters/etcd/etcd.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import { renewMeta } from '../../src/runtime/cell-state/cell-meta.ts';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';
import type { CheckOptions } from './check.ts';
import { storeOf } from './check.ts';

/** Tells the cell that its store is not what it was: see docs/restoring.md. */
export async function restored(context: Context, options: CheckOptions): Promise<number> {
  const { etcd, cell } = storeOf(context, options, 'restored');
  const store = new EtcdCellStore({ endpoints: etcd, clock: systemClock, log: silentLog });
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
