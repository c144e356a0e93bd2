import type { TicketBody } from '../core/quota/ticket.ts';

/** SHA-256 as lower-case hex. */
export type Digest = (text: string) => string;

export interface TicketSigner {
  /** @returns the token, bound to the host and its incarnation outside the body too */
  sign(body: TicketBody): Promise<string>;
}

/** Trusts only keys pinned by file, never a key from a token or the store. */
export interface TicketVerifier {
  /** @returns the body, or why the token is refused */
  verify(token: string, host: string, hostIncarnation: number): Promise<VerifiedTicket>;
}

export type VerifiedTicket =
  | { readonly valid: true; readonly body: TicketBody }
  | { readonly valid: false; readonly reason: 'malformed' | 'unknown-key' | 'bad-signature' };
