import { Ajv2020 } from 'ajv/dist/2020.js';
import type { HttpAnswer, HttpCall } from '../../src/ports/http.ts';
import type { OpenApi, OpenApiResponse } from '../../src/wire/openapi/openapi.ts';
import { openApiOf } from '../../src/wire/openapi/openapi.ts';
import { ANSWERS } from '../../src/wire/openapi/answers/answers.ts';
import { servedRoutes } from './rights-table.ts';

/** Holds what a monitor answers against its document: a status that is not there, another shape, a field of which nothing is said. */

export const monitorDocument: OpenApi = openApiOf(
  servedRoutes().filter(({ server }) => server === 'monitor'),
  '0',
);

const DOCUMENT = 'moorage:openapi';

// As JSON, which is what programs get of it.
const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(
  JSON.parse(JSON.stringify(monitorDocument)) as object,
  DOCUMENT,
);

const templates = Object.entries(monitorDocument.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { responses }]) => ({
    ...{ method, path, responses },
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    variables: path.split('{').length,
  })),
);

/** By operation and status: what was held against the document. */
export const seenAnswers = new Set<string>();

/** What is wrong with the answer by the document; null: nothing. */
export function undocumented(
  { method, url }: Pick<HttpCall, 'method' | 'url'>,
  { status, body }: Pick<HttpAnswer, 'status' | 'body'>,
): string | null {
  const path = new URL(url).pathname.replace(/^\/\d+(?=\/)/, '');
  const [operation] = templates
    .filter((one) => one.method === method.toLowerCase() && one.pattern.test(path))
    .sort((a, b) => a.variables - b.variables);
  // No route: the server's own 404.
  if (operation === undefined) return null;
  const where = `${method} ${operation.path} ${String(status)}`;
  const said = operation.responses[String(status)];
  if (said === undefined) return `${where} is not in the document: ${JSON.stringify(body)}`;
  seenAnswers.add(where);
  return bodyFault(where, said, body);
}

/** What is wrong with a value by the schema that the document has under the name; null: nothing. */
export function schemaFault(name: string, value: unknown): string | null {
  const validate = ajv.getSchema(`${DOCUMENT}#/components/schemas/${name}`);
  if (validate === undefined) return `the document has no schema ${name}`;
  // What only text can carry: undefined is left out, as it is on the wire.
  const sent = JSON.parse(JSON.stringify(value)) as unknown;
  if (validate(sent) !== true)
    return `${name}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(sent)}`;
  const read = JSON.stringify(sorted(ANSWERS[name]?.parse(sent)));
  const whole = JSON.stringify(sorted(sent));
  return read === whole
    ? null
    : `${name} has fields of which the document says nothing: ${whole}, not ${read}`;
}

function bodyFault(where: string, said: OpenApiResponse, body: unknown): string | null {
  const codes = said['x-codes'];
  if (codes !== undefined) {
    const { code } = body as { readonly code?: string };
    if (!codes.includes(code ?? '')) return `${where} has no code ${String(code)}`;
  }
  const contents = Object.values(said.content ?? {});
  if (contents.length === 0) return body === undefined ? null : `${where} has a body`;
  const faults = contents.map(({ schema }) => {
    const name = (schema as { readonly $ref?: string }).$ref?.split('/').at(-1);
    if (name === undefined) return null;
    const values = typeof body === 'string' ? linesOf(body) : [body];
    return values.map((value) => schemaFault(name, value)).find((fault) => fault !== null) ?? null;
  });
  return faults.includes(null) ? null : `${where}: ${faults.join('; or ')}`;
}

/** Of NDJSON, and of server-sent events. */
function linesOf(text: string): readonly unknown[] {
  return text
    .split('\n')
    .map((line) => line.replace(/^data: ?/, ''))
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as unknown);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, field]) => [key, sorted(field)] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}
