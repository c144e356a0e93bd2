import { Etcd3 } from 'etcd3';
import type { StoreArea } from '../../core/access/store-rights.ts';
import { STORE_ROOTS, STORE_USERS } from '../../core/access/store-rights.ts';
import { StoreError } from '../../ports/cell-store.ts';
import type { Credentials } from '../pki/credentials.ts';
import type { EtcdClientOptions } from './client/client.ts';
import { etcdClient, storeNameOption } from './client/client.ts';
import type { DirectEtcd } from './client/direct-client.ts';
import { storeErrorOf } from './client/faults.ts';
import { endOf } from './client/txn-codec.ts';

/** Etcd's own: the role that may do everything, and the user without which it checks no rights. */
const ROOT = 'root';
const BARE_TIMEOUT_MS = 2_000;

export interface SecuredStore {
  /** What was done to make it so; empty: it was so before. */
  readonly changes: readonly string[];
  /** Users that may do everything, and that Moorage did not make. */
  readonly otherRoots: readonly string[];
}

/**
 * Makes etcd's users and roles as the areas say, and lets it check rights from then on. May be repeated, also while a cell
 * runs: what is right stays, and what a user may beside it is taken away.
 *
 * Etcd takes the common name in the caller's certificate for its user, which is a role of the cell. No user has a password:
 * nobody is one without a certificate. Why one for each role, and not for each process: docs/security.md.
 *
 * @throws StoreError `denied`: these credentials may not do it, or the server does not ask its callers for certificates
 */
export async function secureStore(
  options: EtcdClientOptions & { readonly credentials: Credentials },
  areas: readonly StoreArea[],
): Promise<SecuredStore> {
  const etcd = etcdClient(options);
  try {
    await etcd.maintenance.status();
    await assertAsksForCertificates(options);
    const changes = [...(await makeRoles(etcd, areas)), ...(await makeUsers(etcd))];
    // Without effect where it was done before: the server does not tell whether it was.
    await etcd.auth.authEnable();
    return { changes, otherRoots: await findOtherRoots(etcd) };
  } catch (error) {
    throw storeErrorOf(error);
  } finally {
    etcd.close();
  }
}

/** A server without `--client-cert-auth` would know nobody once it checks rights, and nobody could make it stop. */
async function assertAsksForCertificates(options: EtcdClientOptions & { readonly credentials: Credentials }) {
  const { authorities } = options.credentials.now;
  const bare = new Etcd3({
    hosts: [...options.endpoints],
    credentials: { rootCertificate: Buffer.from(authorities) },
    grpcOptions: storeNameOption(options.credentials),
    defaultCallOptions: () => ({ deadline: Date.now() + BARE_TIMEOUT_MS }),
  });
  try {
    await bare.maintenance.status();
  } catch {
    return;
  } finally {
    bare.close();
  }
  const message = 'the store answers callers without a certificate, so that it cannot tell users apart';
  throw new StoreError('denied', message, { retryable: false });
}

interface Range {
  readonly permType: 'Read' | 'Readwrite';
  readonly from: string;
  readonly to: string;
}

/** The first key after an area belongs to it: a reader of its history marks there how far it has come. */
function rangesOf(areas: readonly StoreArea[], user: (typeof STORE_USERS)[number]): readonly Range[] {
  return areas.flatMap(({ prefix, access }): readonly Range[] => {
    const mine = access[user];
    if (mine === undefined) return [];
    return [{ permType: mine === 'write' ? 'Readwrite' : 'Read', from: prefix, to: `${endOf(prefix)}\0` }];
  });
}

async function makeRoles(etcd: DirectEtcd, areas: readonly StoreArea[]): Promise<string[]> {
  const changes: string[] = [];
  const { roles = [] } = await etcd.auth.roleList();
  for (const role of STORE_USERS) {
    if (!roles.includes(role)) await etcd.auth.roleAdd({ name: role });
    const { perm = [] } = roles.includes(role) ? await etcd.auth.roleGet({ role }) : {};
    const found = new Map(
      perm.map(({ permType = 'Read', key, range_end }) => [
        `${String(key)}\n${String(range_end)}`,
        { permType: String(permType), key, range_end },
      ]),
    );
    for (const { permType, from, to } of rangesOf(areas, role)) {
      const name = `${from}\n${to}`;
      const isRight = found.get(name)?.permType === permType;
      found.delete(name);
      if (isRight) continue;
      // One with the same range is replaced.
      await etcd.auth.roleGrantPermission({
        name: role,
        perm: { permType, key: Buffer.from(from), range_end: Buffer.from(to) },
      });
      changes.push(`${role} may ${permType === 'Read' ? 'read' : 'write'} ${from}`);
    }
    for (const { key, range_end } of found.values()) {
      await etcd.auth.roleRevokePermission({ role, key, range_end });
      changes.push(`${role} may no longer use ${String(key)}`);
    }
  }
  return changes;
}

async function makeUsers(etcd: DirectEtcd): Promise<string[]> {
  const changes: string[] = [];
  const { users = [] } = await etcd.auth.userList();
  const wanted = [
    ...STORE_USERS.map((name) => ({ name, role: name })),
    ...[...STORE_ROOTS, ROOT].map((name) => ({ name, role: ROOT })),
  ];
  for (const { name, role } of wanted) {
    const isThere = users.includes(name);
    if (!isThere) {
      await etcd.auth.userAdd({ name, options: { no_password: true } });
      changes.push(`user ${name}`);
    }
    const { roles = [] } = isThere ? await etcd.auth.userGet({ name }) : {};
    if (!roles.includes(role)) await etcd.auth.userGrantRole({ user: name, role });
    for (const other of roles.filter((one) => one !== role)) {
      await etcd.auth.userRevokeRole({ name, role: other });
      changes.push(`user ${name} is no longer ${other}`);
    }
  }
  return changes;
}

async function findOtherRoots(etcd: DirectEtcd): Promise<readonly string[]> {
  const { users = [] } = await etcd.auth.userList();
  const known: readonly string[] = [...STORE_ROOTS, ...STORE_USERS, ROOT];
  const found: string[] = [];
  for (const name of users.filter((one) => !known.includes(one))) {
    const { roles = [] } = await etcd.auth.userGet({ name });
    if (roles.includes(ROOT)) found.push(name);
  }
  return found;
}
