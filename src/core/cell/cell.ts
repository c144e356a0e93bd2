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
