import { cellStoreContract } from '../contract/cell-store.ts';
import { etcdClient } from '../../src/adapters/etcd/client/client.ts';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { EtcdCellStore } from '../../src/adapters/etcd/etcd.ts';
import { startEtcd } from '../../src/adapters/etcd/server/server.ts';
import { findEtcd } from '../../src/adapters/etcd/server/find-etcd.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { restoredStoreContract } from '../contract/restored-store.ts';
import { testFolder } from '../support/cli.ts';
import { useEtcd } from '../support/etcd.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

const etcd = useEtcd();

cellStoreContract('etcd', async () => {
  const store = etcd.store();
  const other = etcd.store();
  return {
    store,
    other,
    prefix: `/moorage/${etcd.cellName()}/`,
    compact: async (revision) => {
      const client = etcdClient({ endpoints: [etcd.url] });
      await client.kv.compact({ revision });
      client.close();
    },
    close: async () => {
      await store.close();
      await other.close();
    },
  };
});

/** A copy of the data folder has the id of the cluster, as a snapshot has that is restored with the flags of the old one. */
restoredStoreContract('etcd', async () => {
  const folder = testFolder();
  const at = (name: string): string => join(folder.path, name);
  const { path: binary } = await findEtcd({ env: process.env });
  const serve = (name: string) =>
    startEtcd({ binary, dataFolder: at(name), unsafeNoFsync: true, autoCompaction: 'off' });
  let server = await serve('first');
  const proxy = await TcpProxy.to(server.clientUrl);
  const stores: EtcdCellStore[] = [];
  const goOnAs = async (name: string): Promise<void> => {
    server = await serve(name);
    proxy.targetPort = Number(new URL(server.clientUrl).port);
    proxy.cutAll();
  };
  return {
    prefix: '/moorage/restored/',
    open: (onWrongServer = () => undefined) => {
      const options = { endpoints: [proxy.url], clock: systemClock, log: silentLog, onWrongServer };
      const store = new EtcdCellStore(options);
      stores.push(store);
      return store;
    },
    save: async () => {
      await server.stop();
      cpSync(at('first'), at('second'), { recursive: true });
      await goOnAs('first');
    },
    goBack: async () => {
      await server.stop();
      await goOnAs('second');
    },
    close: async () => {
      for (const store of stores) await store.close();
      await proxy.close();
      await server.stop();
      rmSync(folder.path, { recursive: true, force: true });
    },
  };
});
