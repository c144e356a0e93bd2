import type { Claim } from './claim.ts';
import type { Epoch } from './epoch.ts';

/** Clocks of arbiter and host may differ by this much (ε). */
export const CLOCK_TOLERANCE_MS = 2_000;
export const TICKET_TTL_MS = 30_000;

/** What an arbiter signs: permission to start exactly this allocation on exactly this host, for a short time. */
export interface TicketBody {
  /** The ticket's own id; accepted once. */
  readonly jti: string;
  /** The host that may use it: one id, never a list. */
  readonly aud: string;
  readonly hostIncarnation: number;
  readonly notBeforeMs: number;
  readonly expiresMs: number;
  readonly namespace: string;
  readonly job: string;
  readonly scheduler: string;
  readonly epoch: Epoch;
  readonly claim: Claim;
  /** SHA-256 of the canonical JSON of the tasks: commands, environment, policies. */
  readonly commandDigest: string;
}

/** What a start request asks for, in the terms that a ticket speaks of. */
export type StartTerms = Omit<TicketBody, 'jti' | 'notBeforeMs' | 'expiresMs'>;

export type TicketRefusal =
  | 'wrong-host'
  | 'wrong-incarnation'
  | 'not-yet-valid'
  | 'expired'
  | 'other-request'
  | 'used-by-another-request';
