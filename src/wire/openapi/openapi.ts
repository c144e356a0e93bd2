/**
 * The document that tells programs what a monitor's API takes: OpenAPI 3.1, of the routes that are served, and of the shapes by
 * which their bodies are checked. `operations/` has what it says of each route, `answers/` what it says of answers; `api-page.ts` makes
 * `docs/api.md` of it, `docs-page.ts` the page that monitors serve at `/docs`.
 */
import { z } from 'zod';
import type { Right } from '../../core/access/access.ts';
import { holdersOf, isForAnybody } from '../../core/access/access.ts';
import { BULK_JOBS_MAX, MIN_REVISION_HEADER, REVISION_HEADER } from '../api/monitor-api.ts';
import { jobJsonSchema } from '../job-file/json-schema.ts';
import { EXAMPLES } from './answers/answer-examples.ts';
import { ANSWERS, answerSchemas } from './answers/answers.ts';
import type { Answer, Operation, Parameter } from './operations/operation.ts';
import { OPERATIONS } from './operations/operations.ts';

/** A route as it is served; `CHANNEL` for those of WebSocket. */
export interface ServedRoute {
  readonly method: string;
  /** `/v1/jobs/:namespace/:job` */
  readonly path: string;
  readonly right: Right;
}

export interface OpenApi {
  readonly openapi: '3.1.0';
  readonly info: Readonly<Record<string, unknown>>;
  /** By path and method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: Readonly<Record<string, unknown>>;
}

export interface OpenApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  /** What a caller must have the right to, and the roles of certificates and scopes of tokens that have it. */
  readonly 'x-right': Right;
  readonly 'x-holders': readonly string[];
  readonly parameters: readonly OpenApiParameter[];
  readonly requestBody?: {
    readonly required: true;
    readonly content: {
      readonly 'application/json': { readonly schema: unknown; readonly example?: unknown };
    };
  };
  readonly responses: Readonly<Record<string, OpenApiResponse>>;
}

export interface OpenApiParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: { readonly type: string };
}

export interface OpenApiResponse {
  readonly description: string;
  readonly content?: Readonly<Record<string, { readonly schema: unknown; readonly example?: unknown }>>;
  /** Of an error: what `code` may be. */
  readonly 'x-codes'?: readonly string[];
}

/** What every route may answer, before it is reached or while the store is away. */
export const COMMON_ERRORS: Readonly<Record<number, readonly string[]>> = {
  400: ['bad-json', 'bad-query', 'bad-request'],
  401: ['unauthenticated', 'bad-token', 'bad-certificate'],
  403: ['forbidden'],
  408: ['timeout'],
  413: ['too-large'],
  414: ['too-large'],
  415: ['not-json'],
  417: ['bad-request'],
  429: ['too-many-requests'],
  500: ['internal', 'unreadable-record'],
  503: ['store-away', 'provider-away', 'store-unavailable', 'behind', 'closing'],
};

/** @throws Error naming a route of which nothing is said: its server must not start with half a document */
export function openApiOf(routes: readonly ServedRoute[], version: string): OpenApi {
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    const method = route.method === 'CHANNEL' ? 'get' : route.method.toLowerCase();
    (paths[path] ??= {})[method] = operationOf(route);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Moorage',
      version,
      description: `The API of a cell's monitors. Every monitor answers the same. Each answer of /v1 has ${REVISION_HEADER}: a read that must not be older sends it as ${MIN_REVISION_HEADER}. Errors are problems (RFC 9457) with a stable code.`,
      license: { name: 'Apache-2.0' },
    },
    paths,
    components: {
      schemas: { ...answerSchemas(), JobFile: withoutDialect(jobJsonSchema()) },
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'of a person: moorage token create' },
        certificate: { type: 'mutualTLS', description: "of the cell's authority: moorage pki issue" },
      },
    },
  };
}

function operationOf({ method, path, right }: ServedRoute): OpenApiOperation {
  const said = OPERATIONS[`${method} ${path}`];
  if (said === undefined) throw new Error(`the document says nothing of ${method} ${path}`);
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  return {
    operationId: operationId(method, path),
    summary: said.summary,
    security: isForAnybody(right) ? [] : [{ token: [] }, { certificate: [] }],
    'x-right': right,
    'x-holders': isForAnybody(right) ? ['anybody'] : holdersOf(right),
    parameters: [
      ...names.map((name): OpenApiParameter => ({
        ...{ name, in: 'path', required: true, description: `the ${name}`, schema: { type: 'string' } },
      })),
      ...(said.query ?? []).map((one) => parameterOf(one, 'query')),
      ...(said.headers ?? []).map((one) => parameterOf(one, 'header')),
    ],
    ...bodyOf(said),
    responses: responsesOf(said),
  };
}

/** `getV1JobsByNamespaceByJobWhy` */
function operationId(method: string, path: string): string {
  const words = path.split(/[/.]/).filter((part) => part !== '');
  const named = words.map((part) => (part.startsWith(':') ? `By${capital(part.slice(1))}` : capital(part)));
  return `${method.toLowerCase()}${named.length === 0 ? 'Page' : named.join('')}`;
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

function parameterOf({ name, type, says, required }: Parameter, place: 'query' | 'header'): OpenApiParameter {
  return { name, in: place, required: required ?? false, description: says, schema: { type } };
}

function bodyOf({ body, example }: Operation): Pick<OpenApiOperation, 'requestBody'> {
  if (body === undefined) return {};
  const content = { schema: schemaOf(body), ...(example === undefined ? {} : { example }) };
  return { requestBody: { required: true, content: { 'application/json': content } } };
}

function schemaOf(body: NonNullable<Operation['body']>): unknown {
  const file = { $ref: '#/components/schemas/JobFile' };
  if (body === 'JobFile') return file;
  if (body === 'JobFiles') return { type: 'array', items: file, minItems: 1, maxItems: BULK_JOBS_MAX };
  return withoutDialect(z.toJSONSchema(body, { io: 'input', unrepresentable: 'any' }));
}

/** OpenAPI 3.1 has the dialect of JSON Schema 2020-12 anyway. */
function withoutDialect(schema: object): unknown {
  const { $schema: _, ...rest } = schema as { readonly $schema?: unknown };
  return rest;
}

function responsesOf({ answers, errors = {} }: Operation): Readonly<Record<string, OpenApiResponse>> {
  const responses: Record<string, OpenApiResponse> = {};
  for (const answer of answers) {
    const known = responses[answer.status];
    const next = responseOf(answer);
    responses[answer.status] =
      known === undefined
        ? next
        : {
            ...known,
            ...next,
            ...(known.content === undefined ? {} : { content: { ...known.content, ...next.content } }),
          };
  }
  const statuses = new Set([...Object.keys(COMMON_ERRORS), ...Object.keys(errors)].map(Number));
  for (const status of [...statuses].sort((a, b) => a - b)) {
    const codes = [...(errors[status] ?? []), ...(COMMON_ERRORS[status] ?? [])];
    const unique = [...new Set(codes)];
    responses[status] ??= {
      description: unique.join(', '),
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      'x-codes': unique,
    };
  }
  return responses;
}

/** @throws Error naming a type that is no text and of which `answers.ts` says nothing */
function responseOf({ type = 'application/json', of }: Answer): OpenApiResponse {
  if (type === null) return { description: of };
  const name = /^\w+/.exec(of)?.[0] ?? of;
  const example = Object.hasOwn(EXAMPLES, name) ? { example: EXAMPLES[name] } : {};
  if (Object.hasOwn(ANSWERS, name))
    return {
      description: of,
      content: { [type]: { schema: { $ref: `#/components/schemas/${name}` }, ...example } },
    };
  if (type === 'application/json') throw new Error(`the document says nothing of ${name}`);
  const schema = { type: type.endsWith('json') ? 'object' : 'string' };
  return { description: of, content: { [type]: { schema } } };
}
