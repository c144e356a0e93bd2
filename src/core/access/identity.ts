import { isId } from '../cell/ids.ts';

/** What a certificate may make its holder: a role's process, a member of the store, or a person who operates the cell. */
export const IDENTITY_ROLES = ['scheduler', 'agent', 'monitor', 'arbiter', 'etcd', 'operator'] as const;
export type IdentityRole = (typeof IDENTITY_ROLES)[number];

/** Who is at the other end of a connection, by its certificate. */
export interface Identity {
  readonly cell: string;
  readonly role: IdentityRole;
  readonly id: string;
}

const SCHEME = 'spiffe://';

/** The name in a certificate, in the form of SPIFFE: `spiffe://<cell>/<role>/<id>`. */
export function identityUri({ cell, role, id }: Identity): string {
  return `${SCHEME}${cell}/${role}/${id}`;
}

/** @returns null when it is no identity of a cell */
export function readIdentity(uri: string): Identity | null {
  if (!uri.startsWith(SCHEME)) return null;
  const [cell = '', word = '', id = '', ...more] = uri.slice(SCHEME.length).split('/');
  const role = IDENTITY_ROLES.find((one) => one === word);
  if (role === undefined || more.length > 0 || !isId(cell) || !isId(id)) return null;
  return { cell, role, id };
}

/** By which a member of the store is known, whatever its address: a name in its certificate, and in nobody else's. */
export function storeName(cell: string): string {
  return `etcd.${cell}`;
}
