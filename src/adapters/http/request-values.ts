import type { IncomingHttpHeaders } from 'node:http';
import { ProblemError } from '../../wire/api/problem.ts';

/** From `security.md` section 4. */
export const URL_CHARS_MAX = 2 * 1024;

/**
 * The query with one text for each name. A name that comes twice is refused: two readers could read two values.
 * @throws ProblemError
 */
export function flatQuery(query: unknown): Readonly<Record<string, string>> {
  const result = Object.create(null) as Record<string, string>;
  for (const [name, value] of Object.entries(query as Record<string, unknown>)) {
    if (typeof value !== 'string')
      throw new ProblemError({
        status: 400,
        code: 'bad-query',
        detail: 'a query name is there twice',
        path: name,
      });
    result[name] = value;
  }
  return result;
}

export function flatHeaders(
  headers: IncomingHttpHeaders | Record<string, unknown>,
): Readonly<Record<string, string>> {
  const result = Object.create(null) as Record<string, string>;
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string') result[name] = value;
    else if (Array.isArray(value)) result[name] = value.join(', ');
  }
  return result;
}
