import { z } from 'zod';
import type { Endpoint } from '../../core/names/endpoints.ts';
import { whole } from '../codec/codec.ts';
import { readBody } from './api.ts';
import type { NameFrame, NamesWanted } from './names-api.ts';
import { NAMES_FOLLOWED_MAX } from './names-api.ts';

const endpoint: z.ZodType<Endpoint> = z.object({
  allocation: z.string(),
  host: z.string(),
  index: whole,
  jobVersion: whole,
  address: z.string(),
  port: whole,
  staleSinceMs: z.exactOptional(z.number()),
});

const frame: z.ZodType<NameFrame> = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('name'), name: z.string(), known: z.boolean(), endpoints: z.array(endpoint) }),
  z.object({ kind: z.literal('view'), complete: z.boolean(), synced: z.boolean() }),
]);

/** @returns null: from a newer version, or broken */
export function readNameFrame(value: unknown): NameFrame | null {
  const reading = frame.safeParse(value);
  return reading.success ? reading.data : null;
}

export const namesWanted: z.ZodType<NamesWanted> = z.strictObject({
  names: z.array(z.string().max(253)).max(NAMES_FOLLOWED_MAX),
});

/** @throws ProblemError 400 */
export function readNamesWanted(body: unknown): NamesWanted {
  return readBody(namesWanted, body);
}
