import { z } from 'zod';
import type { Caller } from '../../core/access/access.ts';
import type { NamespaceAmounts } from '../../core/quota/amounts.ts';
import type { StartTerms } from '../../core/quota/ticket.ts';
import * as bounds from '../values/bounds.ts';
import { id, mapOf, plainText, readBody } from './api.ts';
import { ProblemError } from './problem.ts';
import { startTermsSchema } from './ticket-schema.ts';

/**
 * The arbiter's API.
 *
 *   POST /v1/tickets   TicketRequest → 200 TicketAnswer
 *   POST /v1/fetch-slices   FetchSliceRequest → FetchSlice, or 409 `standby`: ask another arbiter
 *   GET  /v1/grants    –             → GrantListing
 *   GET  /livez /readyz /metrics
 */

export interface TicketRequest {
  readonly scheduler: string;
  readonly placements: readonly StartTerms[];
  /** Runs of placements that are granted all or none, in their order; every other placement stands alone. */
  readonly together?: readonly PlacementRun[];
}

export interface PlacementRun {
  /** Position of its first placement. */
  readonly first: number;
  readonly count: number;
}

/** A host that is about to fetch of an artifact. */
export interface FetchSliceRequest {
  readonly attributes: Readonly<Record<string, string>>;
}

/** So many bytes may come from `afterMs` on, counted from the answer. None: it asks again then. */
export interface FetchSlice {
  readonly bytes: number;
  readonly afterMs: number;
}

const ATTRIBUTES_MAX = 256;

const fetchSliceRequestSchema: z.ZodType<FetchSliceRequest> = z.strictObject({
  attributes: mapOf(
    plainText(bounds.TEXT_BYTES_MAX).min(1),
    plainText(bounds.TEXT_BYTES_MAX),
    ATTRIBUTES_MAX,
  ),
});

/** @throws ProblemError 400 with the place that is wrong */
export function readFetchSliceRequest(body: unknown): FetchSliceRequest {
  return readBody(fetchSliceRequestSchema, body);
}

/** Placements of one request, which takes some tens of ms. A plan with more sends several requests. */
export const PLACEMENTS_MAX = 256;
/** Enough for that many placements with a few ports and devices each. */
export const TICKET_REQUEST_BYTES_MAX = 512 * 1024;

const position = z.int().min(0).max(PLACEMENTS_MAX);
const ticketRequestSchema: z.ZodType<TicketRequest> = z.strictObject({
  scheduler: id,
  placements: z.array(startTermsSchema).min(1).max(PLACEMENTS_MAX),
  together: z
    .array(z.strictObject({ first: position, count: position.min(1) }))
    .max(PLACEMENTS_MAX)
    .exactOptional(),
});

/**
 * @param peer who asks, by its certificate: it must be the scheduler that is named (I39, S4.13)
 * @throws ProblemError that names the place of the first thing wrong
 */
export function readTicketRequest(body: unknown, peer: Caller | null): TicketRequest {
  const request = readBody(ticketRequestSchema, body);
  checkRuns(request);
  if (peer !== null && peer.id !== request.scheduler)
    throw notYours('scheduler', 'another scheduler is named');
  const foreign = request.placements.findIndex((terms) => terms.scheduler !== request.scheduler);
  if (foreign < 0) return request;
  throw notYours(`placements.${String(foreign)}.scheduler`, 'a placement of another scheduler');
}

function notYours(path: string, detail: string): ProblemError {
  return new ProblemError({ status: 403, code: 'not-yours', detail, path });
}

/** Runs must not overlap, and must not go beyond the end. */
function checkRuns({ placements, together }: TicketRequest): void {
  let next = 0;
  for (const [n, { first, count }] of (together ?? []).entries()) {
    if (first < next || first + count > placements.length)
      throw new ProblemError({
        status: 400,
        code: 'bad-request',
        detail: 'the run overlaps another one, or goes beyond the end',
        path: `together.${String(n)}`,
      });
    next = first + count;
  }
}

/** What is granted all or none, in the order of the placements: the runs of the request, and every other placement by itself. */
export function unitsOf({ placements, together }: TicketRequest): readonly (readonly StartTerms[])[] {
  const units: (readonly StartTerms[])[] = [];
  let next = 0;
  for (const { first, count } of [...(together ?? []), { first: placements.length, count: 0 }]) {
    for (const terms of placements.slice(next, first)) units.push([terms]);
    if (count > 0) units.push(placements.slice(first, first + count));
    next = first + count;
  }
  return units;
}

/** The request for these units, which must fit into one. */
export function requestFor(scheduler: string, units: readonly (readonly StartTerms[])[]): TicketRequest {
  const together: PlacementRun[] = [];
  let first = 0;
  for (const { length } of units) {
    if (length > 1) together.push({ first, count: length });
    first += length;
  }
  return { scheduler, placements: units.flat(), ...(together.length === 0 ? null : { together }) };
}

export interface TicketAnswer {
  /** One for each placement, in their order. */
  readonly answers: readonly TicketGrant[];
  /** Namespaces of the request that have a quota: the answer waited until what is granted there was in the store. */
  readonly limited?: readonly string[];
}

export type TicketGrant =
  | { readonly id: string; readonly ticket: string; readonly expiresMs: number }
  | { readonly id: string; readonly refusal: GrantRefusal };

/**
 * `quota`: the namespace would exceed its quota. `paused`: an operator paused all placement. `starting`: this arbiter does
 * not know yet what was granted before it. `view-incomplete`: it does not know what is in use. `standby`: another arbiter
 * keeps the quotas, ask that one. `busy`: too many grants are outstanding.
 */
export const GRANT_REFUSALS = ['quota', 'paused', 'starting', 'view-incomplete', 'standby', 'busy'] as const;
export type GrantRefusalCode = (typeof GRANT_REFUSALS)[number];
/** These stand until an operator changes something or something ends; every other arbiter would repeat them. */
export const FINAL_GRANT_REFUSALS: ReadonlySet<GrantRefusalCode> = new Set(['quota', 'paused']);

export interface GrantRefusal {
  readonly code: GrantRefusalCode;
  readonly detail: string;
  /** When another request may succeed; null: when the limit or the use changes. */
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
