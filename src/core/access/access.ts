/**
 * Who may do what. Each route of each role names one right; a caller has it by the role in its certificate (`identity.ts`).
 * Where a right holds only for what is the caller's own, the route checks that too: a scheduler asks for tickets, starts
 * and stops in its own name only.
 */
import type { Identity, IdentityRole } from './identity.ts';

const HOLDERS = {
  /** Whether a process lives and is ready, its version, the schema of a job file. */
  health: ['scheduler', 'agent', 'monitor', 'arbiter', 'operator'],
  metrics: ['monitor', 'operator'],
  /** Jobs, hosts, events, output, limits, the state of schedulers. */
  read: ['scheduler', 'monitor', 'operator'],
  /** What runs on hosts, as they report it. */
  reports: ['scheduler', 'monitor', 'arbiter', 'operator'],
  /** Jobs and one-off runs: to submit and to stop them. */
  submit: ['operator'],
  /** Which hosts take new work. */
  operate: ['operator'],
  /** Quotas and what hosts share. */
  limits: ['operator'],
  /** Through a monitor: commands, input, signals and files inside a task. */
  enter: ['operator'],
  /** The same on its host, and its output: what a monitor passes on. */
  relay: ['monitor'],
  /** With a ticket, in its own name. */
  start: ['scheduler'],
  /** A scheduler: what it owns. A monitor: what has no owner. */
  stop: ['scheduler', 'monitor', 'operator'],
  /** In its own name. */
  tickets: ['scheduler'],
  /** What arbiters have granted. */
  grants: ['arbiter', 'operator'],
} as const satisfies Readonly<Record<string, readonly IdentityRole[]>>;

export type Right = keyof typeof HOLDERS;

export const RIGHTS = Object.keys(HOLDERS) as readonly Right[];

/**
 * @param peer null: the server has no credentials, so that whoever reaches it counts as trusted
 */
export function mayUse(peer: Identity | null, right: Right): boolean {
  return peer === null || (HOLDERS[right] as readonly IdentityRole[]).includes(peer.role);
}

export function holdersOf(right: Right): readonly IdentityRole[] {
  return HOLDERS[right];
}

/** @throws Error that names the first path without a right of the list: its server must not start */
export function assertRights(routes: Iterable<{ readonly path: string; readonly right: Right }>): void {
  for (const { path, right } of routes)
    if (!Object.hasOwn(HOLDERS, right)) throw new Error(`the route ${path} declares no right that there is`);
}
