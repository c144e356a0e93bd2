import { canonicalJson } from '../json/canonical-json.ts';
import type { Claim } from '../cell/claim.ts';
import type { Epoch } from '../cell/epoch.ts';

/** Clocks of arbiter and host may differ by this much (ε). */
export const CLOCK_TOLERANCE_MS = 2_000;
export const TICKET_TTL_MS = 30_000;

/** What an arbiter signs: a permission to start this allocation on this host, for a short time. */
export interface TicketBody {
  /** The ticket's id; accepted once. */
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

/** What a start request asks for, in the terms of a ticket. */
export type StartTerms = Omit<TicketBody, 'jti' | 'notBeforeMs' | 'expiresMs'>;

export type TicketRefusal =
  | 'wrong-host'
  | 'wrong-incarnation'
  | 'not-yet-valid'
  | 'expired'
  | 'other-request'
  | 'used-by-another-request';

/** The claim of an allocation, without its other fields: what a ticket names and a host compares. */
export function claimOf(allocation: Claim): Claim {
  const { id, host, precedence, resources, gpus, ports, shared, volumes } = allocation;
  return {
    ...{ id, host, precedence, resources, gpus, ports },
    ...(shared === undefined ? null : { shared }),
    ...(volumes === undefined ? null : { volumes }),
  };
}

/**
 * Does the ticket permit this start, now? The caller has checked the signature, and records durably that the ticket is
 * used.
 *
 * @param terms what the request asks for, on the host that asks
 * @param nowMs the host's wall clock, never below its persisted high-water mark (I36)
 * @returns the first reason against it, in the fixed order host, incarnation, time, equality; null when it permits
 */
export function ticketRefusal(body: TicketBody, terms: StartTerms, nowMs: number): TicketRefusal | null {
  if (body.aud !== terms.aud || body.claim.host !== terms.aud) return 'wrong-host';
  if (body.hostIncarnation !== terms.hostIncarnation) return 'wrong-incarnation';
  if (nowMs < body.notBeforeMs - CLOCK_TOLERANCE_MS) return 'not-yet-valid';
  if (nowMs > body.expiresMs + CLOCK_TOLERANCE_MS) return 'expired';
  return comparable(body) === comparable(terms) ? null : 'other-request';
}

/** Everything that must be equal, as canonical JSON (I39). */
function comparable(terms: StartTerms): string {
  const { namespace, job, scheduler, epoch, claim, commandDigest } = terms;
  const { incarnation, counter } = epoch;
  return canonicalJson({
    namespace,
    job,
    scheduler,
    incarnation,
    counter,
    claim: claimOf(claim),
    commandDigest,
  });
}
