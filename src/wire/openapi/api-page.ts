import type { OpenApi, OpenApiOperation } from './openapi.ts';
import { COMMON_ERRORS } from './openapi.ts';

/** The document for people: `docs/api.md`. */
export function apiPage({ paths }: OpenApi): string {
  const lines = [
    '# The API of monitors',
    '',
    '<!-- made of the document at /v1/openapi.json: vitest run test/unit/monitor/api/openapi.test.ts -u -->',
    '',
    'Every monitor answers at `/v1/openapi.json` with this as OpenAPI 3.1, made of the shapes by which it checks requests. Bodies are JSON. A person shows a',
    'token as `Authorization: Bearer`, a role its certificate; who may call what is in [security.md](security.md). Types are those of the package `moorage`.',
    '',
    'Each answer has a schema of its own in the document, with an example, under the name that stands here: `SubmitAnswer` is `#/components/schemas/SubmitAnswer`.',
    'None forbids the fields that a newer monitor adds. Any generator of clients may read it; `test/support/generate-client.py` makes one in Python, of the standard',
    'library alone, and a test runs a job with that over TLS.',
    '',
    'Lists that grow with the cell (jobs, allocations, hosts) come whole, or in parts: with `limit` an answer has so many rows at most and a `next`, which is the',
    '`cursor` of the following request; the last one has none. The order is fixed, so that what comes or goes between two parts moves no other row out of sight.',
    'The client and the command line follow the parts by themselves. Events go on `since` the last one.',
    '',
    'Errors are problems (RFC 9457): `status`, `code`, `detail`, and where it helps `hint` and `path`. Besides those of a route, any may answer:',
    '',
    ...Object.entries(COMMON_ERRORS).map(([status, codes]) => `- ${status}: ${ticked(codes)}`),
    '',
  ];
  for (const [path, operations] of Object.entries(paths))
    for (const [method, operation] of Object.entries(operations))
      lines.push(...section(path, method, operation));
  return `${lines.join('\n').trimEnd()}\n`;
}

function section(path: string, method: string, operation: OpenApiOperation): readonly string[] {
  const { summary, parameters, requestBody, responses } = operation;
  const body = requestBody?.content['application/json'];
  const lines = [
    `## ${method.toUpperCase()} ${path}`,
    '',
    `${summary}. Right: \`${operation['x-right']}\` (${operation['x-holders'].join(', ')}).`,
    '',
  ];
  for (const { name, in: place, required, description } of parameters)
    if (place !== 'path') lines.push(`- ${place} \`${name}\`${required ? ', required' : ''}: ${description}`);
  for (const [status, answer] of Object.entries(responses)) {
    const codes = own(Number(status), answer['x-codes']);
    if (answer['x-codes'] === undefined) lines.push(`- ${status}: ${answer.description}`);
    else if (codes.length > 0) lines.push(`- ${status}: ${ticked(codes)}`);
  }
  if (body?.example !== undefined) lines.push('', '```json', JSON.stringify(body.example), '```');
  return [...lines, ''];
}

function own(status: number, codes: readonly string[] = []): readonly string[] {
  return codes.filter((code) => !(COMMON_ERRORS[status] ?? []).includes(code));
}

function ticked(codes: readonly string[]): string {
  return codes.map((code) => `\`${code}\``).join(', ');
}
