import { AlarmAction, AlarmType } from 'etcd3';
import type { StoreSize, StoreUpkeep } from '../../ports/store-upkeep.ts';
import type { EtcdClientOptions } from './client/client.ts';
import { etcdClient } from './client/client.ts';
import { storeErrorOf } from './client/faults.ts';

/** A member rewrites its whole database: 100 MiB in a second or so, and the quota allows some GiB. */
const DEFRAGMENT_TIMEOUT_MS = 120_000;

/** Upkeep of an etcd cluster. Sizes and defragmentation are per member, so each member has a client. */
export class EtcdUpkeep implements StoreUpkeep {
  readonly #members;

  constructor(options: EtcdClientOptions) {
    this.#members = options.endpoints.map((endpoint) =>
      etcdClient({
        ...{ callTimeoutMs: DEFRAGMENT_TIMEOUT_MS, connectionName: 'upkeep', ...options },
        endpoints: [endpoint],
      }),
    );
  }

  measure(): Promise<StoreSize> {
    return asStoreError(async () => {
      const sizes = await Promise.all(this.#members.map((member) => member.maintenance.status()));
      const alarms = await this.#alarms();
      return {
        revision: Math.max(...sizes.map(({ header }) => Number(header.revision))),
        databaseBytes: Math.max(...sizes.map(({ dbSize }) => Number(dbSize))),
        inUseBytes: Math.max(...sizes.map(inUse)),
        isFull: alarms.length > 0,
      };
    });
  }

  compact(revision: number): Promise<void> {
    return asStoreError(async () => {
      // Physical: the space is free for writing when the call is answered.
      await this.#first.kv.compact({ revision, physical: true });
    });
  }

  defragment(): Promise<void> {
    return asStoreError(async () => {
      for (const member of this.#members) await member.maintenance.defragment();
    });
  }

  disarm(): Promise<void> {
    return asStoreError(async () => {
      // An alarm is one member's, and is taken back under its name only.
      for (const { memberID } of await this.#alarms())
        await this.#first.maintenance.alarm({
          ...{ action: AlarmAction.Deactivate, memberID, alarm: AlarmType.Nospace },
        });
    });
  }

  async close(): Promise<void> {
    for (const member of this.#members) member.close();
  }

  /** Alarms of members without space. */
  async #alarms(): Promise<readonly { readonly memberID: string }[]> {
    const { alarms } = await this.#first.maintenance.alarm({ action: AlarmAction.Get });
    return alarms.filter(({ alarm }) => String(alarm).toUpperCase() === 'NOSPACE');
  }

  get #first() {
    const [first] = this.#members;
    if (first === undefined) throw new Error('an etcd without a member');
    return first;
  }
}

/** Servers since 3.4 report it; `etcd3`'s types are older. */
function inUse(status: object & { readonly dbSize: string }): number {
  const { dbSizeInUse = status.dbSize } = status as { readonly dbSizeInUse?: string };
  return Number(dbSizeInUse);
}

async function asStoreError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw storeErrorOf(error);
  }
}
