import { z } from 'zod';
import { INVITATION_HOSTS_MAX, INVITATION_TTL_MAX_MS, PEM_CHARS_MAX } from '../../core/access/invitation.ts';
import { whole } from '../codec/codec.ts';
import { id, readBody } from '../api/api.ts';
import type { InvitationRequest, JoinRequest } from './join.ts';

/** An address, or a name of DNS. */
const HOST = /^[A-Za-z0-9][A-Za-z0-9.:-]{0,252}$/;
const PROOF_CHARS_MAX = 256;

export const invitationRequest: z.ZodType<InvitationRequest> = z.strictObject({
  host: id,
  hosts: z.array(z.string().regex(HOST)).min(1).max(INVITATION_HOSTS_MAX),
  ttlMs: whole.min(1).max(INVITATION_TTL_MAX_MS),
});

export const joinRequest: z.ZodType<JoinRequest> = z.strictObject({
  publicKey: z.string().max(PEM_CHARS_MAX),
  proof: z.string().max(PROOF_CHARS_MAX),
});

/** @throws ProblemError 400 with the place that is wrong */
export function readInvitationRequest(body: unknown): InvitationRequest {
  return readBody(invitationRequest, body);
}

/** @throws ProblemError 400 with the place that is wrong */
export function readJoinRequest(body: unknown): JoinRequest {
  return readBody(joinRequest, body);
}
