import { z } from 'zod';
import type { StartTerms, TicketBody } from '../../core/quota/ticket.ts';
import { whole } from '../codec/codec.ts';
import { id } from './api.ts';
import { claim, epoch } from './host-requests.ts';

const terms = {
  aud: id,
  hostIncarnation: whole,
  namespace: id,
  job: id,
  scheduler: id,
  epoch,
  claim: z.strictObject(claim),
  commandDigest: z.string().regex(/^[0-9a-f]{64}$/),
};

export const startTermsSchema: z.ZodType<StartTerms> = z.strictObject(terms);

/** Strict: a field that this version does not know could be a restriction, so such a ticket is refused. */
export const ticketBodySchema: z.ZodType<TicketBody> = z.strictObject({
  ...terms,
  jti: id,
  notBeforeMs: whole,
  expiresMs: whole,
});
