import type { Delegation } from '../core/access/delegation.ts';
import type { TicketBody } from '../core/quota/ticket.ts';

/** SHA-256 as lower-case hex. */
export type Digest = (text: string) => string;

export interface TicketSigner {
  /**
   * With one signature for all of them.
   * @returns a ticket for each, in their order, bound to its host and the host's incarnation outside the body too
   */
  sign(bodies: readonly TicketBody[]): Promise<readonly string[]>;
}

/** Trusts only keys pinned by file, never a key from a ticket or the store. */
export interface TicketVerifier {
  /** @returns the body, or why the ticket is refused */
  verify(ticket: string, host: string, hostIncarnation: number): Promise<VerifiedTicket>;
}

export type VerifiedTicket =
  | { readonly valid: true; readonly body: TicketBody }
  | {
      readonly valid: false;
      readonly reason: 'unknown-format' | 'malformed' | 'unknown-key' | 'bad-signature';
    };

/** @returns what a host takes as the word of this process */
export type SignDelegation = (delegation: Delegation) => string;

/** Trusts monitors of the cell alone, by their certificates. */
export type OpenDelegation = (text: string) => OpenedDelegation;

/** @returns what was sealed to this cell's hosts as this secret; null: this is none */
export type OpenSecret = (
  secret: { readonly namespace: string; readonly name: string },
  sealed: string,
) => string | null;

export type OpenedDelegation =
  | { readonly valid: true; readonly monitor: string; readonly delegation: Delegation }
  | { readonly valid: false; readonly reason: 'malformed' | 'unknown-signer' | 'bad-signature' };
