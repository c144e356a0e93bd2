import type { CellKeys } from '../cell/keys.ts';

/**
 * Who reads and writes what in the store. Etcd's users and roles are made of this table, `docs/security.md` shows it, and in
 * simulated worlds each write is compared with it.
 */

/** The roles that are users of the store with rights of their own; the name of each user is that of the role. */
export const STORE_USERS = ['scheduler', 'agent', 'monitor', 'arbiter'] as const;
export type StoreUser = (typeof STORE_USERS)[number];

/** Who may do everything in the store: who holds its files, and who operates the cell. */
export const STORE_ROOTS = ['etcd', 'operator'] as const;

/** Who writes also reads: the transactions of a cell read what they compare. */
export type StoreAccess = 'read' | 'write';

export interface StoreArea {
  /** All keys that begin so. */
  readonly prefix: string;
  readonly access: Readonly<Partial<Record<StoreUser, StoreAccess>>>;
  /** What follows the prefix is who may write it. A user of the store is a role, so the store does not keep ids apart. */
  readonly own?: StoreUser;
}

/** Outside of every cell: what each process writes to see whether its watches deliver. */
export const CANARY_PREFIX = '/moorage-canary/';

/** The areas of a cell. Of several that hold a key the first one says who may write it. */
export function storeAreas(keys: CellKeys): readonly StoreArea[] {
  const [read, write] = ['read', 'write'] as const;
  return [
    { prefix: keys.meta, access: { scheduler: read, agent: read, monitor: read, arbiter: read } },
    { prefix: keys.hosts, access: { scheduler: read, agent: write, monitor: write }, own: 'agent' },
    { prefix: keys.alive, access: { scheduler: read, agent: write, monitor: read }, own: 'agent' },
    // A host asks whether there is an epoch that is new to it.
    { prefix: keys.eligibility, access: { scheduler: read, agent: read, monitor: write } },
    { prefix: keys.ledgers, access: { scheduler: write, monitor: write } },
    { prefix: keys.allocations, access: { scheduler: write, agent: read, monitor: write, arbiter: read } },
    { prefix: keys.jobs, access: { scheduler: read, monitor: write } },
    { prefix: keys.versions, access: { scheduler: read, monitor: write } },
    { prefix: keys.owners, access: { scheduler: write, agent: read, monitor: read } },
    { prefix: keys.outcomes, access: { scheduler: write, monitor: write, arbiter: read } },
    { prefix: keys.rollouts, access: { scheduler: write, monitor: write } },
    { prefix: keys.intents, access: { scheduler: write, monitor: write } },
    { prefix: keys.runs, access: { monitor: write } },
    { prefix: keys.role('scheduler', ''), access: { scheduler: write, monitor: read }, own: 'scheduler' },
    {
      prefix: keys.role('monitor', ''),
      access: { scheduler: read, monitor: write, arbiter: read },
      own: 'monitor',
    },
    {
      prefix: keys.role('arbiter', ''),
      access: { scheduler: read, monitor: read, arbiter: write },
      own: 'arbiter',
    },
    // They keep tasks from all roles.
    { prefix: keys.roles, access: { agent: read } },
    { prefix: keys.quota(''), access: { scheduler: read, monitor: write, arbiter: read } },
    // Hosts hold back restarts themselves.
    { prefix: keys.pauses, access: { scheduler: read, agent: read, monitor: write, arbiter: read } },
    { prefix: keys.verdicts, access: { monitor: write } },
    { prefix: keys.remedies, access: { monitor: write } },
    { prefix: keys.remedyBudget, access: { monitor: write } },
    { prefix: keys.budgets, access: { scheduler: read, monitor: write } },
    { prefix: keys.buckets, access: { scheduler: write, monitor: write } },
    { prefix: keys.closedHosts, access: { monitor: write } },
    { prefix: keys.shared, access: { scheduler: read, monitor: write, arbiter: read } },
    { prefix: keys.pools, access: { scheduler: write, monitor: write } },
    { prefix: keys.tokens, access: { monitor: write } },
    { prefix: keys.openid, access: { monitor: write } },
    { prefix: keys.audit, access: { monitor: write } },
    { prefix: keys.invitations, access: { monitor: write } },
    // Who holds the authority's key writes them, as an operator.
    { prefix: keys.certificates, access: { scheduler: read, agent: read, monitor: read, arbiter: read } },
    { prefix: keys.secrets, access: { scheduler: read, monitor: write } },
    { prefix: keys.arbiters, access: { arbiter: write } },
    // One watch over the whole cell, whose changes come in order.
    { prefix: keys.root, access: { monitor: read } },
    { prefix: CANARY_PREFIX, access: { scheduler: write, agent: write, monitor: write, arbiter: write } },
  ];
}

/** Null: nobody but `STORE_ROOTS`. */
export function writersOf(areas: readonly StoreArea[], key: string): readonly StoreUser[] | null {
  const area = areas.find(({ prefix }) => key.startsWith(prefix));
  if (area === undefined) return null;
  return STORE_USERS.filter((user) => area.access[user] === 'write');
}
