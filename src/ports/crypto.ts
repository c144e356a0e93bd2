import type { TicketBody } from '../core/quota/ticket.ts';

/** SHA-256 as lower-case hex. */
export type Digest = (text: string) => string;

export interface TicketSigner {
  /** @returns the token, bound to the host and its incarnation outside the body too */
  sign(body: TicketBody): Promise<string>;
}

/** Only keys pinned by file are trusted; a key named by a token or found in the store is not. */
export interface TicketVerifier {
  /** @returns the body, or why the token is none of ours */
  verify(token: string, host: string, hostIncarnation: number): Promise<VerifiedTicket>;
}

export type VerifiedTicket =
  | { readonly valid: true; readonly body: TicketBody }
  | { readonly valid: false; readonly reason: 'malformed' | 'unknown-key' | 'bad-signature' };
