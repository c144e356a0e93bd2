/**
 * Who may do what. Each route of each role names one right; a caller has it by the role in its certificate (`identity.ts`), or
 * by the scope of its token (`token.ts`, `person.ts`; `openid.ts`: one of somebody else's), which monitors take. Where a right holds only for what is the caller's
 * own, the route checks that too: a scheduler asks for tickets, starts and stops in its own name only, and a person sees
 * the namespaces of its token. A machine that shows an `invitation.ts` may join, and nothing else; `secret-text.ts` is what
 * it and the holder of a token show. `store-rights.ts` is who
 * reads and writes what in the store; `audit.ts`: records of what was done; `delegation.ts`: what a monitor asks of a host for
 * somebody else; `secret.ts`: what only hosts and their tasks know.
 */
import type { Identity, IdentityRole } from './identity.ts';
import type { Invited } from './invitation.ts';
import type { Person, Scope } from './person.ts';
import { SYSTEM_NAMESPACE } from '../cell/ids.ts';
import { includesScope, isOfCell, SCOPES } from './person.ts';

/** Who is at the other end, by its certificate, its token or its invitation. */
export type Caller = Identity | Person | Invited;

interface Holders {
  readonly roles: readonly IdentityRole[];
  /** The least scope of a token that has the right; null: none has. */
  readonly scope: Scope | null;
}

const EVERY_ROLE: readonly IdentityRole[] = ['scheduler', 'agent', 'monitor', 'arbiter', 'operator'];

const HOLDERS = {
  /** The files of the page: they are the same for everybody, and are asked for before anybody can say who it is. */
  page: { roles: [...EVERY_ROLE, 'etcd'], scope: 'read' },
  /** Whether a process lives and is ready, its version, the schema of a job file, who the caller is. */
  health: { roles: EVERY_ROLE, scope: 'read' },
  metrics: { roles: ['monitor', 'operator'], scope: 'operate' },
  /** Jobs, hosts, events, output, limits, the state of schedulers. */
  read: { roles: ['scheduler', 'monitor', 'operator'], scope: 'read' },
  /** Where instances are reached that serve, and nothing else of them. */
  names: { roles: ['scheduler', 'agent', 'monitor', 'operator'], scope: 'read' },
  /** What runs on hosts, as they report it: all of it. */
  reports: { roles: ['scheduler', 'monitor', 'arbiter', 'operator'], scope: 'operate' },
  /** Jobs and one-off runs: to submit, stop and delete them. */
  submit: { roles: ['operator'], scope: 'submit' },
  /** Which hosts take new work, and what is paused in the whole cell. */
  operate: { roles: ['operator'], scope: 'operate' },
  /** Quotas and what hosts share. */
  limits: { roles: ['operator'], scope: 'admin' },
  /** Tokens of people: to make, to list and to revoke them, and to say whose others count. */
  tokens: { roles: ['operator'], scope: 'admin' },
  /** Who did what. */
  audit: { roles: ['operator'], scope: 'admin' },
  /** Through a monitor: commands, input, signals and files inside a task. */
  enter: { roles: ['operator'], scope: 'submit' },
  /** The same on its host, and its output: what a monitor passes on. */
  relay: { roles: ['monitor'], scope: null },
  /** With a ticket, in its own name. */
  start: { roles: ['scheduler'], scope: null },
  /** A scheduler: what it owns. A monitor: what has no owner. */
  stop: { roles: ['scheduler', 'monitor', 'operator'], scope: null },
  /** In its own name. */
  tickets: { roles: ['scheduler'], scope: null },
  /** A part of the rate at which hosts fetch. */
  'fetch-slices': { roles: ['agent'], scope: null },
  /** Hosts that are to join: to invite them. */
  invite: { roles: ['operator'], scope: 'admin' },
  /** Who was invited, and nobody else. */
  join: { roles: [], scope: null },
  /** What arbiters have granted. */
  grants: { roles: ['arbiter', 'operator'], scope: null },
} as const satisfies Readonly<Record<string, Holders>>;

export type Right = keyof typeof HOLDERS;

export const RIGHTS = Object.keys(HOLDERS) as readonly Right[];

/** Of such a route nobody is asked who it is. */
export function isForAnybody(right: Right): boolean {
  return right === 'page';
}

/**
 * @param peer null: the server has no credentials, so that whoever reaches it counts as trusted
 */
export function mayUse(peer: Caller | null, right: Right): boolean {
  if (peer === null) return true;
  if (peer.role === 'invited') return right === 'join';
  const { roles, scope }: Holders = HOLDERS[right];
  if (peer.role === 'person') return scope !== null && includesScope(peer.scope, scope);
  return roles.includes(peer.role);
}

export function holdersOf(right: Right): readonly (IdentityRole | Scope)[] {
  const { roles, scope }: Holders = HOLDERS[right];
  return [...roles, ...SCOPES.filter((one) => scope !== null && includesScope(one, scope))];
}

/** Whether the caller may know of what lies in the namespace. */
export function sees(peer: Caller | null, namespace: string): boolean {
  // What a host may know it tells to whoever asks on it.
  if (peer?.role === 'agent') return namespace !== SYSTEM_NAMESPACE;
  if (peer?.role !== 'person') return true;
  if (namespace === SYSTEM_NAMESPACE) return isOfCell(peer.scope);
  return peer.namespaces?.includes(namespace) ?? true;
}

/** What records say of who did something. */
export function nameOfCaller(peer: Caller | null): string {
  if (peer === null) return 'operator';
  if (peer.role === 'invited') return `invitation/${peer.id}`;
  if (peer.role !== 'person') return `${peer.role}/${peer.id}`;
  return peer.issuer === undefined ? `token/${peer.id}` : `oidc:${peer.issuer}#${peer.id}`;
}

/** @throws Error that names the first path without a right of the list: its server must not start */
export function assertRights(routes: Iterable<{ readonly path: string; readonly right: Right }>): void {
  for (const { path, right } of routes)
    if (!Object.hasOwn(HOLDERS, right)) throw new Error(`the route ${path} declares no right that there is`);
}
