/**
 * Codecs from zod schemas. A record that this program wrote itself, as nearly all are, passes `quick-check.ts`, which turns
 * a schema into a fast test; only the rest goes through the schema. `record-fields.ts` has readers for the two records that
 * are read by the ten thousand and have a codec by hand.
 */
import { z } from 'zod';
import type { Resources } from '../../core/cell/resources.ts';
import { NO_SCALARS } from '../../core/cell/resources.ts';
import { JsonError, parseStrictJson } from '../../core/json/json.ts';
import type { Codec } from '../wire.ts';
import { RecordError } from '../wire.ts';
import type { QuickCheck } from './quick-check.ts';
import { quickCheck, quickCheckOf } from './quick-check.ts';
import { RECORD_VERSION } from './record-fields.ts';

/** Canonical jobs are the largest: 60 KiB from the author, with every default of every task. */
const SCHEMA_RECORD_CHARS_MAX = 512 * 1024;
/** A job nests 8 deep; 512 keys is the bound on what authors may write, the rest is for defaults. */
const RECORD_JSON_LIMITS = { depthMax: 20, keysMax: 1024 };

/** Its schema is also what the API says of the record where it shows it. */
export interface SchemaCodec<T> extends Codec<T> {
  readonly schema: z.ZodType<T>;
}

/**
 * A codec from a schema. Schemas are loose: fields that a newer version added stay on the value and are written back with
 * it (I64).
 *
 * @param kind the record's name in errors
 */
export function schemaCodec<T extends object>(kind: string, schema: z.ZodType<T>): SchemaCodec<T> {
  const check = quickCheck(schema);
  return {
    schema,
    encode: (value) => JSON.stringify({ v: RECORD_VERSION, ...value }),
    decode: (text) => {
      const known = quickly(text, check);
      if (known !== null) return known as T;
      const { v, ...fields } = parse(kind, text);
      if (v !== RECORD_VERSION)
        throw new RecordError(kind, `v: expected ${String(RECORD_VERSION)}, found ${String(v)}`);
      const result = schema.safeParse(fields);
      if (!result.success) throw new RecordError(kind, placeOf(result.error), result.error);
      return result.data;
    },
  };
}

/**
 * As `schemaCodec`, for records that are written now and then: what could not be read again is not written, since it would be
 * lost to everybody, and with it what it is about. `encode` throws an Error of its own then, which no reader takes for a fault of
 * the store.
 */
export function checkedCodec<T extends object>(kind: string, schema: z.ZodType<T>): SchemaCodec<T> {
  const codec = schemaCodec(kind, schema);
  const encode = (value: T): string => {
    const text = codec.encode(value);
    try {
      codec.decode(text);
    } catch (cause) {
      throw new Error(`not written: ${String(cause)}`, { cause });
    }
    return text;
  };
  return { ...codec, encode };
}

/** A record as this program writes it, which nearly all are. @returns null for any other, or a wrong one */
function quickly(text: string, check: QuickCheck): object | null {
  if (!text.startsWith(VERSION_FIRST) || text.length > SCHEMA_RECORD_CHARS_MAX) return null;
  // As an own key it would pass every check, and change the prototype of the object it is copied into.
  if (text.includes('"__proto__"')) return null;
  let fields: Record<string, unknown>;
  try {
    // The text after the version, as an object of its own: taking the field out again would cost a copy.
    fields = JSON.parse(`{${text.slice(VERSION_FIRST.length)}`) as Record<string, unknown>;
  } catch {
    return null;
  }
  return fields['v'] === undefined && check(fields) ? fields : null;
}

const VERSION_FIRST = `{"v":${String(RECORD_VERSION)},`;

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

/** The first fault, with its place: `job.groups.web.count: expected number`. */
function placeOf(error: z.ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return 'does not match its schema';
  return `${issue.path.length === 0 ? '' : `${issue.path.join('.')}: `}${issue.message}`;
}

/** What a schema reads, all of it read-only. */
export type Shape<S extends z.ZodType> = ReadonlyDeep<z.output<S>>;

type ReadonlyDeep<T> = T extends readonly (infer E)[]
  ? readonly ReadonlyDeep<E>[]
  : T extends object
    ? { readonly [K in keyof T]: ReadonlyDeep<T[K]> }
    : T;

/** Counts, times and amounts. */
export const whole = z.int().min(0);

export const counts = z.record(z.string(), whole);

const amounts = z.looseObject({ cpuMilli: whole, memoryMib: whole, diskMib: whole, scalars: counts });

/** Empty scalars become the one shared empty value, which sums over resources recognise. */
export const resources = amounts.transform((r): Resources =>
  Object.keys(r.scalars).length === 0 ? { ...r, scalars: NO_SCALARS } : r,
);

quickCheckOf(resources, (value) => {
  if (!quickCheck(amounts)(value)) return false;
  const read = value as { scalars: Resources['scalars'] };
  if (Object.keys(read.scalars).length === 0) read.scalars = NO_SCALARS;
  return true;
});
