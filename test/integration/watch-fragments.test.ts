import { expect, it, vi } from 'vitest';
import { OPERATIONS_WANTED } from '../../src/adapters/etcd/txn-limit.ts';
import { useEtcd } from '../support/etcd.ts';

const etcd = useEtcd();

const REVISIONS = 220;
/** All of it together is more than the largest message that a client takes, 64 MiB. */
const VALUE = 'x'.repeat(800);

it('a watch that begins far back reads all of it, whole revision by whole revision, in messages that it can hold', async () => {
  const store = etcd.store();
  const prefix = `/moorage/${etcd.cellName()}/`;
  const { revision: before } = await store.read([]);
  await vi.waitFor(() => expect(store.limits.operationsMax).toBe(OPERATIONS_WANTED), { timeout: 60_000 });
  for (let n = 0; n < REVISIONS; n++) {
    const writes = Array.from({ length: OPERATIONS_WANTED }, (_, key) => ({
      ...{ kind: 'put' as const, key: `${prefix}${String(key)}`, value: VALUE },
    }));
    expect(await store.attempt({ compares: [], writes, readBack: [] })).toMatchObject({ outcome: 'applied' });
  }
  let revisions = 0;
  for await (const { changes } of store.history(prefix, before + 1)) {
    expect(changes).toHaveLength(OPERATIONS_WANTED);
    revisions += 1;
  }
  expect(revisions).toBe(REVISIONS);
});
