/**
 * How machines become hosts: this file is the monitor's API about them, `join-requests.ts` reads its bodies, and
 * `joined-file.ts` is what a host keeps of it. `bare-api.ts` is what a machine answers that waits for a cell to be made
 * (`bare-requests.ts` reads its bodies), and `bootstrap-file.ts` what whoever makes the cell keeps of that.
 *
 *   GET /v1/invitations    → InvitationListAnswer
 *   DELETE /v1/invitations/:id   → 204; what was handed out lets nobody in any more
 *   POST /v1/invitations   InvitationRequest → NewInvitation, the only answer with what the machine shows
 *   POST /v1/join          KeyRequest → JoinAnswer; the machine shows its invitation, and asks until it is answered
 */
import type { Invitation, InvitationState, KeyRequest, SignedBundle } from '../../core/access/invitation.ts';

export interface InvitationRequest {
  readonly host: string;
  /** The addresses and names at which it will serve. */
  readonly hosts: readonly string[];
  readonly ttlMs: number;
}

/** An invitation without what it takes to use it. */
export interface NewInvitation extends Pick<Invitation, 'id' | 'host' | 'hosts' | 'createdBy' | 'endsAtMs'> {
  /** What the machine shows. */
  readonly shown: string;
}

/** An invitation without what it takes to use it. */
export interface InvitationStatus extends Pick<
  Invitation,
  'id' | 'host' | 'hosts' | 'createdBy' | 'createdAtMs' | 'endsAtMs'
> {
  readonly state: InvitationState;
  /** When a machine has shown it; null: none has. */
  readonly askedAtMs: number | null;
}

export interface InvitationListAnswer {
  readonly invitations: readonly InvitationStatus[];
}

export type JoinRequest = KeyRequest;

/** `waiting`: the key is on record, and nobody has signed its certificate yet. */
export type JoinAnswer =
  { readonly state: 'waiting' } | { readonly state: 'answered'; readonly answer: SignedBundle };
