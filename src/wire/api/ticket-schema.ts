import { z } from 'zod';
import type { StartTerms, TicketBody } from '../../core/quota/ticket.ts';
import { whole } from '../codec/codec.ts';
import { quickCheck } from '../codec/quick-check.ts';
import { id } from './api.ts';
import { claim, epoch } from './host-requests.ts';

/** What is signed for all tickets of one request. */
export interface TicketRoot {
  /** The root of the tree over them: SHA-256 as base64url. */
  readonly root: string;
  /** How many leaves the tree has. */
  readonly tickets: number;
}

/** More leaves than any request has placements. */
const TICKETS_MAX = 65_536;

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
const ticketBodySchema: z.ZodType<TicketBody> = z.strictObject({
  ...terms,
  jti: id,
  notBeforeMs: whole,
  expiresMs: whole,
});

const ticketRootSchema: z.ZodType<TicketRoot> = z.strictObject({
  root: z.string().regex(/^[\w-]{43}$/),
  tickets: z.int().min(1).max(TICKETS_MAX),
});

/** null: this is no ticket of this version. */
export function readTicketBody(value: unknown): TicketBody | null {
  return readAs(ticketBodySchema, value);
}

/** null: this is no root of this version. */
export function readTicketRoot(value: unknown): TicketRoot | null {
  return readAs(ticketRootSchema, value);
}

function readAs<T>(schema: z.ZodType<T>, value: unknown): T | null {
  if (quickCheck(schema)(value)) return value as T;
  const parsed = schema.safeParse(value);
  return parsed.success ? parsed.data : null;
}
