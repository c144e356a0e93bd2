import { z } from 'zod';
import type { Resources } from '../core/resources.ts';
import { NO_SCALARS } from '../core/resources.ts';
import { JsonError, parseStrictJson } from '../core/strict-json.ts';
import type { Codec } from './codec.ts';
import { RecordError } from './codec.ts';
import { RECORD_VERSION } from './record-fields.ts';

/** Canonical jobs are the largest: 60 KiB from the author, and every default of every task filled in. */
const SCHEMA_RECORD_CHARS_MAX = 512 * 1024;
/** A job nests 8 deep; 512 keys is the bound on what authors may write, the rest is for defaults. */
const RECORD_JSON_LIMITS = { depthMax: 20, keysMax: 1024 };

/**
 * A codec from a schema, for records that are read now and then. Schemas are loose: fields that a newer version added
 * stay on the value and are written back with it (I64).
 *
 * @param kind the record's name in errors
 */
export function schemaCodec<T extends object>(kind: string, schema: z.ZodType<T>): Codec<T> {
  return {
    encode: (value) => JSON.stringify({ v: RECORD_VERSION, ...value }),
    decode: (text) => {
      const { v, ...fields } = parse(kind, text);
      if (v !== RECORD_VERSION)
        throw new RecordError(kind, `v: expected ${String(RECORD_VERSION)}, found ${String(v)}`);
      const result = schema.safeParse(fields);
      if (!result.success) throw new RecordError(kind, placeOf(result.error), result.error);
      return result.data;
    },
  };
}

function parse(kind: string, text: string): Record<string, unknown> {
  if (text.length > SCHEMA_RECORD_CHARS_MAX)
    throw new RecordError(kind, `${String(text.length)} characters are too many`);
  try {
    const value = parseStrictJson(text, RECORD_JSON_LIMITS);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch (cause) {
    if (cause instanceof JsonError) throw new RecordError(kind, cause.message, cause);
    throw cause;
  }
  throw new RecordError(kind, 'expected an object');
}

/** The first thing that is wrong, with where it is: `job.groups.web.count: expected number`. */
function placeOf(error: z.ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return 'does not match its schema';
  return `${issue.path.length === 0 ? '' : `${issue.path.join('.')}: `}${issue.message}`;
}

/** Counts, times and amounts. */
export const whole = z.int().min(0);

export const counts = z.record(z.string(), whole);

/** Empty scalars become the one shared empty value, which the sums over resources recognise at once. */
export const resources = z
  .looseObject({ cpuMilli: whole, memoryMib: whole, diskMib: whole, scalars: counts })
  .transform((r): Resources => (Object.keys(r.scalars).length === 0 ? { ...r, scalars: NO_SCALARS } : r));
