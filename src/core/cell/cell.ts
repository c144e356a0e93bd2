/**
 * The records of a cell. This file has those of the processes that work in it; beside it:
 *
 * - `keys.ts`: the key of every record in etcd
 * - `ids.ts`: names and ids
 * - `epoch.ts`: the fencing epoch that every order carries
 * - `job.ts`: what a user submits: job, groups, tasks
 * - `resources.ts`: amounts of cpu, memory, disk, GPUs and scalars
 * - `interference.ts`: classes of neighbours, and who avoids them
 * - `ask.ts`: what one allocation of a group needs of any host
 * - `claim.ts`: what a placement takes of one host
 * - `allocation.ts`: a committed placement, and its outcome
 * - `volume.ts`: data that outlives allocations: what a group declares, and where it lies
 * - `rollout.ts`: how far the update of a job is
 * - `intent.ts`: a gang that is committed in several transactions
 * - `ownership.ts`: in which order schedulers claim a job without an owner
 */

/** Which scheduler instance works on a job. The key lives under the instance's session; commits compare its creation. */
export interface Owner {
  readonly scheduler: string;
  readonly kind: string;
  readonly sinceMs: number;
}

/** A role's own registration, under its session. */
export interface RoleRecord {
  readonly kind: RoleKind;
  readonly id: string;
  /** Base URL of its API; empty when it serves none. */
  readonly address: string;
  readonly version: string;
  /** For schedulers: the policy's name. */
  readonly policy: string;
  readonly startedAtMs: number;
}

export const ROLE_KINDS = ['scheduler', 'monitor', 'arbiter', 'agent'] as const;
export type RoleKind = (typeof ROLE_KINDS)[number];
