import type { z } from 'zod';
import { parseStrictJson } from '../core/strict-json.ts';
import type { Codec } from './codec.ts';
import { RecordError } from './codec.ts';

/** A codec of JSON text whose shape the schema checks. `kind` names the record in errors. */
export function checkedJson<T>(kind: string, schema: z.ZodType<T>): Codec<T> {
  return {
    encode: (value) => JSON.stringify(value),
    decode(text) {
      let value: unknown;
      try {
        value = parseStrictJson(text);
      } catch (cause) {
        throw new RecordError(kind, 'is not JSON that we write', cause);
      }
      const result = schema.safeParse(value);
      if (result.success) return result.data;
      const issue = result.error.issues[0];
      throw new RecordError(
        kind,
        `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is not as we write it'}`,
      );
    },
  };
}
