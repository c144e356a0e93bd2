import { z } from 'zod';
import { ID_PATTERN } from '../../core/cell/ids.ts';
import { GPU_MILLI_PER_DEVICE } from '../../core/cell/resources.ts';
import type { StartTerms, TicketBody } from '../../core/quota/ticket.ts';

/** What a ticket may name at most; the job file's own bounds are tighter. */
const GPUS_MAX = 64;
const PORTS_MAX = 64;
const SCALARS_MAX = 64;
const SHARED_MAX = 64;
const POOL_NAME_MAX = 512;
const PRECEDENCE_MAX = 100;

const id = z.string().regex(ID_PATTERN);
const amount = z.int().min(0);
const name = z.string().min(1).max(64);

const resources = z.strictObject({
  cpuMilli: amount,
  memoryMib: amount,
  diskMib: amount,
  scalars: z.record(name, amount).refine(atMost(SCALARS_MAX)),
});

const claim = z.strictObject({
  id,
  host: id,
  precedence: z.int().min(0).max(PRECEDENCE_MAX),
  resources,
  gpus: z
    .array(
      z.strictObject({
        device: z.int().min(0).max(GPUS_MAX),
        milli: z.int().min(0).max(GPU_MILLI_PER_DEVICE),
      }),
    )
    .max(GPUS_MAX),
  ports: z.record(name, z.int().min(1).max(65_535)).refine(atMost(PORTS_MAX)),
  shared: z.exactOptional(z.record(z.string().min(1).max(POOL_NAME_MAX), amount).refine(atMost(SHARED_MAX))),
});

const terms = {
  aud: id,
  hostIncarnation: z.int().min(0),
  namespace: id,
  job: id,
  scheduler: id,
  epoch: z.strictObject({ incarnation: z.string().min(1).max(64), counter: z.int().min(0) }),
  claim,
  commandDigest: z.string().regex(/^[0-9a-f]{64}$/),
};

export const startTermsSchema: z.ZodType<StartTerms> = z.strictObject(terms);

/** Strict: a field that this version does not know could be a restriction, and a ticket is not half understood. */
export const ticketBodySchema: z.ZodType<TicketBody> = z.strictObject({
  ...terms,
  jti: id,
  notBeforeMs: z.int().min(0),
  expiresMs: z.int().min(0),
});

function atMost(max: number): (fields: Readonly<Record<string, unknown>>) => boolean {
  return (fields) => Object.keys(fields).length <= max;
}
