import type { z } from 'zod';
import { ProblemError } from './problem.ts';
import { quickCheck } from '../codec/quick-check.ts';

/**
 * What a request says, if it is as documented.
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
