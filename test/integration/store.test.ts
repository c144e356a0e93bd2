import { cellStoreContract } from '../contract/cell-store.ts';
import { etcdClient } from '../../src/adapters/etcd/client.ts';
import { useEtcd } from '../support/etcd.ts';

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
