import { z } from 'zod';
import { ID_PATTERN } from '../core/ids.ts';
import type { StartTerms } from '../core/ticket.ts';
import { ProblemError } from './problem.ts';
import { startTermsSchema } from './ticket-schema.ts';

/**
 * The arbiter's API.
 *
 *   POST /v1/tickets   TicketRequest → 200 TicketAnswer
 *   GET  /v1/grants    –             → GrantListing
 *   GET  /livez /readyz /metrics
 */

export interface TicketRequest {
  readonly scheduler: string;
  readonly placements: readonly StartTerms[];
}

/** Placements of one request. A plan with more asks in several; each one is answered within a few tens of ms. */
export const PLACEMENTS_MAX = 256;
/** For that many placements with a few ports and devices each. */
export const TICKET_REQUEST_BYTES_MAX = 512 * 1024;

const ticketRequestSchema: z.ZodType<TicketRequest> = z.strictObject({
  scheduler: z.string().regex(ID_PATTERN),
  placements: z.array(startTermsSchema).min(1).max(PLACEMENTS_MAX),
});

/** @throws ProblemError that names the place of the first thing wrong */
export function readTicketRequest(body: unknown): TicketRequest {
  const parsed = ticketRequestSchema.safeParse(body);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const path = issue?.path.join('.') ?? '';
    throw new ProblemError({
      status: 400,
      code: 'bad-request',
      detail: issue?.message ?? 'no ticket request',
      path,
    });
  }
  const foreign = parsed.data.placements.findIndex((terms) => terms.scheduler !== parsed.data.scheduler);
  if (foreign < 0) return parsed.data;
  const path = `placements.${String(foreign)}.scheduler`;
  throw new ProblemError({
    status: 403,
    code: 'not-yours',
    detail: 'a placement of another scheduler',
    path,
  });
}

export interface TicketAnswer {
  /** One for each placement, in their order. */
  readonly answers: readonly TicketGrant[];
}

export type TicketGrant =
  | { readonly id: string; readonly ticket: string; readonly expiresMs: number }
  | { readonly id: string; readonly refusal: GrantRefusal };

/**
 * `quota`: the namespace would use more than it may. `paused`: an operator paused all placement. `starting`: this arbiter
 * cannot know yet what was granted before it. `view-incomplete`: it cannot know what is in use. `standby`: another arbiter
 * keeps the quotas, ask that one. `busy`: too many grants are out.
 */
export const GRANT_REFUSALS = ['quota', 'paused', 'starting', 'view-incomplete', 'standby', 'busy'] as const;
export type GrantRefusalCode = (typeof GRANT_REFUSALS)[number];

export interface GrantRefusal {
  readonly code: GrantRefusalCode;
  readonly detail: string;
  /** When asking again can make sense; null: when the limit or the use changes. */
  readonly retryAfterMs: number | null;
}

export interface GrantListing {
  readonly namespaces: readonly {
    readonly namespace: string;
    readonly used: NamespaceAmounts;
    readonly granted: NamespaceAmounts;
    readonly quota: Partial<NamespaceAmounts> | null;
  }[];
}

export interface NamespaceAmounts {
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly gpuMilli: number;
  readonly allocations: number;
}
