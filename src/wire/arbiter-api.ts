import type { StartTerms } from '../core/ticket.ts';

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

export interface TicketAnswer {
  /** One for each placement, in their order. */
  readonly answers: readonly TicketGrant[];
}

export type TicketGrant =
  | { readonly id: string; readonly ticket: string; readonly expiresMs: number }
  | { readonly id: string; readonly refusal: GrantRefusal };

export interface GrantRefusal {
  /** `quota`, `paused`, `view-incomplete`, `starting` */
  readonly code: string;
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
