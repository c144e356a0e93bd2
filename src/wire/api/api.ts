/**
 * The bodies of the HTTP APIs, a file each: `monitor-api.ts` (the one that people use) with `cell-api.ts` (shared
 * resources), `quota-api.ts`, `pause-api.ts`, `volume-api.ts`, `usage-api.ts`, `names-api.ts` with `names-frames.ts`, and `exec-api.ts`; `host-api.ts`, `scheduler-api.ts`, `arbiter-api.ts`. The
 * head of each lists its routes. What is about people lies in the room `access/`, what would be decided in `plan/`.
 *
 * Requests are checked by zod shapes: beside their types, or in `monitor-requests.ts`, `host-requests.ts` and `ticket-schema.ts`,
 * where the command line uses the types and must not load zod. `readBody` here is how a route reads one.
 *
 * Streams: `report-frames.ts` (reports), `attach-frames.ts` (terminals), `event-position.ts` (where events resume).
 * Every error is answered with the body of `problem.ts`.
 */
import { z } from 'zod';
import { ID_PATTERN } from '../../core/cell/ids.ts';
import { quickCheck } from '../codec/quick-check.ts';
import { unsafeText } from '../values/safe-string.ts';
import { ProblemError } from './problem.ts';

export const id = z.string().regex(ID_PATTERN);

export function plainText(bytesMax: number) {
  return z
    .string()
    .refine((value) => unsafeText(value, bytesMax) === null, { error: 'is too long or not plain text' });
}

export function mapOf<T extends z.ZodType>(key: z.ZodType<string, string>, value: T, keysMax: number) {
  return z
    .record(key, value)
    .refine((map) => Object.keys(map).length <= keysMax, { error: 'has too many entries' });
}

/**
 * The body of a request, if it has the documented shape.
 * @throws ProblemError 400 with the first place that is wrong
 */
export function readBody<T>(schema: z.ZodType<T>, body: unknown): T {
  if (quickCheck(schema)(body)) return body as T;
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const path = issue?.path.map(String).join('.') ?? '';
  throw new ProblemError({
    status: 400,
    code: 'bad-request',
    detail: `${path === '' ? 'the body' : path}: ${issue?.message ?? 'is not as documented'}`,
    path,
  });
}
