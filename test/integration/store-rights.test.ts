import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { etcdClient } from '../../src/adapters/etcd/client/client.ts';
import type { DirectEtcd } from '../../src/adapters/etcd/client/direct-client.ts';
import { storeErrorOf } from '../../src/adapters/etcd/client/faults.ts';
import { EtcdCellStore } from '../../src/adapters/etcd/etcd.ts';
import { secureStore } from '../../src/adapters/etcd/rights.ts';
import { findEtcd } from '../../src/adapters/etcd/server/find-etcd.ts';
import type { EtcdProcess } from '../../src/adapters/etcd/server/server.ts';
import { startEtcd } from '../../src/adapters/etcd/server/server.ts';
import type { Credentials } from '../../src/adapters/pki/credentials.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import type { IdentityRole } from '../../src/core/access/identity.ts';
import type { StoreAccess, StoreUser } from '../../src/core/access/store-rights.ts';
import { STORE_USERS, storeAreas } from '../../src/core/access/store-rights.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import { TestAuthority } from '../support/credentials.ts';

const CELL = 'sealed';
const AREAS = storeAreas(cellKeys(CELL));
const OTHER_CELL = '/moorage/other/ledger/h1';

/** Etcd asks for no right where it is done: docs/security.md names them. */
const OPEN_TO_ALL = [
  'read its state',
  'list the leases',
  "keep another's lease",
  'drop the past',
  'say that the store is full',
];

let authority: TestAuthority;
let etcd: EtcdProcess;
let folder = '';
const clients = new Map<IdentityRole, DirectEtcd>();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'moorage-rights-'));
  authority = await TestAuthority.of(CELL);
  const { path: binary } = await findEtcd({ env: process.env });
  const credentials = await authority.credentials('etcd', 'etcd-1');
  etcd = await startEtcd({ binary, dataFolder: folder, unsafeNoFsync: true, credentials });
});
afterAll(async () => {
  for (const client of clients.values()) client.close();
  await etcd.stop();
  authority[Symbol.dispose]();
  rmSync(folder, { recursive: true, force: true });
});

async function as(role: IdentityRole): Promise<DirectEtcd> {
  const credentials = await authority.credentials(role, `some-${role}`);
  const client = clients.get(role) ?? etcdClient({ endpoints: [etcd.clientUrl], credentials });
  clients.set(role, client);
  return client;
}

async function operatorReach(): Promise<{ endpoints: string[]; credentials: Credentials }> {
  return { endpoints: [etcd.clientUrl], credentials: await authority.credentials('operator', 'ann') };
}

async function outcomeOf(call: () => Promise<unknown>): Promise<'done' | 'denied'> {
  try {
    await call();
    return 'done';
  } catch (error) {
    const { code, message } = storeErrorOf(error);
    if (code === 'denied') return 'denied';
    throw new Error(message, { cause: error });
  }
}

function succeeds(attempt: () => Promise<unknown>): Promise<boolean> {
  return attempt().then(
    () => true,
    () => false,
  );
}

const bytes = (text: string): Buffer => Buffer.from(text);

/** What the client may do with the key, by trying. */
async function accessTo(client: DirectEtcd, key: string): Promise<StoreAccess | null> {
  const read = await outcomeOf(() => client.kv.range({ key: bytes(key) }));
  const writes = [
    await outcomeOf(() => client.kv.put({ key: bytes(key), value: bytes('{}') })),
    await outcomeOf(() => client.kv.deleteRange({ key: bytes(key) })),
  ];
  expect(new Set(writes).size, key).toBe(1);
  if (writes[0] === 'done') {
    expect(read, key).toBe('done');
    return 'write';
  }
  return read === 'done' ? 'read' : null;
}

function expectedAccess(user: StoreUser, key: string): StoreAccess | null {
  const found = AREAS.filter(({ prefix }) => key.startsWith(prefix)).map(({ access }) => access[user]);
  return found.includes('write') ? 'write' : found.includes('read') ? 'read' : null;
}

describe("I65 S4.13 the store's users", () => {
  it('a store that was used without them gets them, once, and keeps what it holds', async () => {
    const scheduler = await as('scheduler');
    const { quota } = cellKeys(CELL);
    await scheduler.kv.put({ key: bytes(quota('team')), value: bytes('{}') });
    const first = await secureStore(await operatorReach(), AREAS);
    expect(first.changes).toContain('scheduler may write /moorage/sealed/ledger/');
    expect(first.otherRoots).toEqual([]);
    await expect(scheduler.kv.put({ key: bytes(quota('team')), value: bytes('{}') })).rejects.toThrow(
      /permission denied/,
    );
    const operator = await as('operator');
    const { kvs } = await operator.kv.range({ key: bytes(quota('team')) });
    expect(kvs).toHaveLength(1);
    expect(await secureStore(await operatorReach(), AREAS)).toEqual({ changes: [], otherRoots: [] });
  });

  it('what was granted beside the table is taken away again, and who else may do everything is named', async () => {
    const operator = await as('operator');
    const all = { permType: 'Readwrite', key: bytes('\0'), range_end: bytes('\0') } as const;
    await operator.auth.roleGrantPermission({ name: 'agent', perm: all });
    await operator.auth.userGrantRole({ user: 'agent', role: 'scheduler' });
    await operator.auth.userAdd({ name: 'backup', options: { no_password: true } });
    await operator.auth.userGrantRole({ user: 'backup', role: 'root' });
    const { changes, otherRoots } = await secureStore(await operatorReach(), AREAS);
    expect(changes).toHaveLength(2);
    expect(otherRoots).toEqual(['backup']);
    expect(await accessTo(await as('agent'), '/moorage/sealed/ledger/h1')).toBeNull();
  });

  it.each(STORE_USERS)('S1.23 %s: each area as the table says, whole and in a transaction', async (user) => {
    const client = await as(user);
    const keys = [...AREAS.map(({ prefix }) => `${prefix}x`), OTHER_CELL, '/moorage-probe/x', 'x', '/'];
    for (const key of keys) {
      const expected = expectedAccess(user, key);
      expect(await accessTo(client, key), key).toBe(expected);
      // Hidden in the branch of a transaction that is not taken.
      const hidden = await outcomeOf(() =>
        client.kv.txn({
          compare: [],
          success: [],
          failure: [{ request_put: { key: bytes(key), value: bytes('{}') } }],
        }),
      );
      expect(hidden, key).toBe(expected === 'write' ? 'done' : 'denied');
    }
    const whole = { key: bytes('\0'), range_end: bytes('\0') };
    expect(await outcomeOf(() => client.kv.range({ ...whole, count_only: true }))).toBe('denied');
    expect(await outcomeOf(() => client.kv.deleteRange(whole))).toBe('denied');
  });

  it.each(STORE_USERS)('%s: a watch shows what may be read, and nothing else', async (user) => {
    const credentials = await authority.credentials(user, `some-${user}`);
    const store = new EtcdCellStore({
      ...{ endpoints: [etcd.clientUrl], credentials, clock: systemClock, log: silentLog },
    });
    for (const { prefix } of AREAS) {
      const following = store.follow(prefix, { onSnapshot: () => undefined, onChanges: () => undefined });
      const isListed = (await outcomeOf(() => store.list(prefix))) === 'done';
      // One that is refused is tried again until it is closed.
      if (isListed) await following.ready;
      expect(isListed, prefix).toBe(expectedAccess(user, `${prefix}x`) !== null);
      following.close();
    }
    await store.close();
  });

  it.each(['scheduler', 'agent'] as const)(
    'the worst that a stolen certificate of a %s can do',
    async (user) => {
      const thief = await as(user);
      const operator = await as('operator');
      const { ID } = await operator.leaseClient.leaseGrant({ TTL: 600 });
      await operator.kv.put({
        key: bytes('/moorage/sealed/limits/quotas/kept'),
        value: bytes('{}'),
        lease: ID,
      });
      const { header } = await operator.kv.put({ key: bytes('/moorage-canary/9'), value: bytes('x') });
      const attempts: Record<string, () => Promise<unknown>> = {
        'turn the check of rights off': () => thief.auth.authDisable(),
        'make a user': () => thief.auth.userAdd({ name: 'mine', options: { no_password: true } }),
        'become root': () => thief.auth.userGrantRole({ user, role: 'root' }),
        'widen its role': () =>
          thief.auth.roleGrantPermission({
            name: user,
            perm: { permType: 'Readwrite', key: bytes('\0'), range_end: bytes('\0') },
          }),
        'give itself a password': () => thief.auth.userChangePassword({ name: user, password: 'mine' }),
        'log in as root': () => thief.auth.authenticate({ name: 'root', password: '' }),
        'add a member': () => thief.cluster.memberAdd({ peerURLs: ['https://127.0.0.1:1'] }),
        'remove a member': () => thief.cluster.memberRemove({ ID: '1' }),
        'copy the database': async () => {
          const stream = await thief.maintenance.snapshot();
          await new Promise((resolve, reject) => {
            stream.on('data', resolve);
            stream.on('error', reject);
          });
        },
        'stop a member to defragment it': () => thief.maintenance.defragment(),
        "end another's lease": () => thief.leaseClient.leaseRevoke({ ID }),
        'list the leases': () => thief.leaseClient.leaseLeases({}),
        "keep another's lease": async () => {
          const stream = await thief.leaseClient.leaseKeepAlive();
          await new Promise((resolve, reject) => {
            stream.on('data', resolve);
            stream.on('error', reject);
            stream.write({ ID });
          });
          stream.cancel();
        },
        'drop the past': () => thief.kv.compact({ revision: header.revision }),
        'say that the store is full': () =>
          thief.maintenance.alarm({ action: 'Activate', memberID: header.member_id, alarm: 'Nospace' }),
        'read its state': () => thief.maintenance.status(),
      };
      const done: string[] = [];
      for (const [name, attempt] of Object.entries(attempts)) {
        if (await succeeds(attempt)) done.push(name);
      }
      // The server has forgotten nothing but its past, and takes writes again when it is told to.
      for (const { memberID, alarm } of (await operator.maintenance.alarm({ action: 'Get' })).alarms)
        await operator.maintenance.alarm({ action: 'Deactivate', memberID, alarm });
      expect(done.filter((name) => !OPEN_TO_ALL.includes(name))).toEqual([]);
      expect(
        (await operator.kv.range({ key: bytes('/moorage/sealed/limits/quotas/kept') })).kvs,
      ).toHaveLength(1);
    },
  );
});
