import { z } from 'zod';
import type { Delegation } from '../../core/access/delegation.ts';
import { DELEGATED_ACTS } from '../../core/access/delegation.ts';
import { whole } from '../codec/codec.ts';
import { TEXT_BYTES_MAX } from '../values/bounds.ts';
import { id, plainText } from '../api/api.ts';

/** Strict: a field that this version does not know could be a restriction. */
const delegationSchema: z.ZodType<Delegation> = z.strictObject({
  by: plainText(TEXT_BYTES_MAX).min(1),
  host: id,
  allocation: id,
  act: z.enum(DELEGATED_ACTS),
  request: z.string().regex(/^[0-9a-f]{64}$/),
  notBeforeMs: whole,
  expiresMs: whole,
});

/** null: this is no delegation of this version. */
export function readDelegation(value: unknown): Delegation | null {
  return delegationSchema.safeParse(value).data ?? null;
}
