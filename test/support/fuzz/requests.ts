import fc from 'fast-check';
import { OPERATIONS } from '../../../src/wire/openapi/operations/operations.ts';
import type { ServedRoute } from '../rights-table.ts';
import { bodies } from './bodies.ts';
import { examplesOf } from './examples.ts';
import { oddText } from './texts.ts';

/** One input to a route. */
export interface FuzzRequest {
  /** `plain`: by a client of HTTP. `raw`: its bytes are written as they are. `channel`: as a WebSocket. */
  readonly way: 'plain' | 'raw' | 'channel';
  /** For the parameters of the path, in their order. */
  readonly words: readonly string[];
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly contentType: string | null;
  readonly body: Buffer | null;
  /** What a monitor that relays shows its host: what is right, or what was drawn. */
  readonly delegates: boolean;
  /** Of a channel. */
  readonly frames: readonly Buffer[];
  /** Of a raw request: what is wrong with it. */
  readonly fault: RawFault;
}

export interface RawFault {
  readonly kind: 'path' | 'line' | 'header' | 'length' | 'chunks' | 'upgrade' | 'bytes';
  readonly text: string;
  readonly bytes: Uint8Array;
}

/** By the parameter's name: what is there, so that a request comes further than to its absence. */
const KNOWN: Readonly<Record<string, readonly string[]>> = {
  namespace: ['default', 'default', 'kept', 'nowhere'],
  job: ['hello', 'hello-2', 'fuzz-1', 'fuzz-2', 'kept', 'once'],
  host: ['@host', '@host', 'host-2', 'nobody'],
  id: ['@allocation', '@allocation', '@new', '@token', '@started'],
  command: ['c1', 'look-1', 'nothing'],
  name: ['uplink', 'one', 'two'],
  what: ['placement', 'eviction', 'else'],
  file: ['@file', '@file', 'main.js'],
};

const QUERY_VALUES = fc.oneof(
  fc.constantFrom(
    ...[
      'true',
      'false',
      '0',
      '1',
      '-1',
      '100',
      '60000',
      '1e3',
      '9007199254740993',
      'now',
      'stdout',
      'stderr',
      'main',
    ],
    ...[
      'take',
      'free',
      'none',
      'kept',
      'default',
      'default/hello',
      'kept/kept,default/hello',
      '@allocation',
      'c1',
    ],
  ),
  oddText,
);
const AGENT_QUERY = [
  'task',
  'stream',
  'offset',
  'follow',
  'command',
  'stdout',
  'stderr',
  'session',
  'input',
  'since',
];

const HEADERS = fc.oneof(
  fc.tuple(
    fc.constantFrom(
      'x-min-revision',
      'if-match',
      'last-event-id',
      'range',
      'x-request-id',
      'idempotency-key',
    ),
    fc.oneof(
      fc.constantFrom('0', '1', '5', '@revision', '999999999999999', '-1', '"1"', 'bytes=0-', '1.5'),
      oddText,
    ),
  ),
  fc.tuple(
    fc.constantFrom('traceparent', 'accept', 'cookie', 'origin', 'accept-encoding', 'if-none-match', 'te'),
    fc.oneof(
      fc.constantFrom(
        '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
        'text/event-stream',
        '*/*',
        'gzip',
      ),
      fc.constantFrom('null', 'https://localhost', 'trailers'),
      oddText,
    ),
  ),
  fc.tuple(
    fc.constantFrom(
      'authorization',
      'moorage-delegation',
      'x-forwarded-for',
      'content-encoding',
      'x-http-method-override',
    ),
    fc.oneof(
      fc.constantFrom(
        'Bearer moorage.x.y',
        `Bearer moorage.${'0'.repeat(26)}.${'a'.repeat(64)}`,
        'moorage-delegation-1.a.b.c',
      ),
      fc.constantFrom('DELETE', 'gzip', '127.0.0.1'),
      oddText,
    ),
  ),
);

const CONTENT_TYPES = fc.oneof(
  { weight: 20, arbitrary: fc.constant<string | null>('application/json') },
  { weight: 1, arbitrary: fc.constant(null) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      ...[
        'text/plain',
        'application/json; charset=utf-16',
        'application/JSON;',
        'application/x-ndjson',
        'text/json',
      ],
      ...[
        'multipart/form-data',
        'application/json, text/plain',
        'application/jsonp',
        '/',
        ';',
        'application/yaml',
      ],
    ),
  },
  { weight: 1, arbitrary: oddText },
);

const LETTERS = [...'IFWGsoeagx?\0'].map((letter) => letter.charCodeAt(0));
const FRAMES = fc.array(
  fc.oneof(
    fc.constantFrom(Buffer.from('G{"commandId":"s2","signal":"SIGCONT"}'), Buffer.from([87, 24, 0, 80, 0])),
    fc.constant(Buffer.concat([Buffer.from('I'), Buffer.alloc(8), Buffer.from('hello\n')])),
    fc
      .tuple(fc.constantFrom(...LETTERS), fc.uint8Array({ maxLength: 40 }))
      .map(([letter, rest]) => Buffer.from([letter, ...rest])),
    fc
      .tuple(fc.constantFrom('G', 'x', 's'), oddText)
      .map(([letter, text]) =>
        Buffer.from(`${letter}{"commandId":${JSON.stringify(text)},"signal":"SIGCONT"}`),
      ),
    fc.nat(300_000).map((size) => Buffer.alloc(size, 'I')),
    fc.nat(3_000).map((depth) => Buffer.from(`G${'['.repeat(depth)}`)),
  ),
  { maxLength: 5 },
);

const FAULT: fc.Arbitrary<RawFault> = fc.record({
  kind: fc.constantFrom('path', 'path', 'line', 'header', 'length', 'chunks', 'upgrade', 'upgrade', 'bytes'),
  text: fc.oneof(
    fc.constantFrom(
      '%',
      '%zz',
      '%c0%af',
      '%00',
      '//',
      '/../',
      '?',
      '#',
      '\\',
      '%ff%fe',
      ';',
      '%2',
      '*',
      'http://x/',
      '/v1/%zz',
    ),
    oddText,
  ),
  bytes: fc.uint8Array({ maxLength: 64 }),
});

/** Inputs to the route, half of them near to what it takes. */
export function requestsTo(route: ServedRoute): fc.Arbitrary<FuzzRequest> {
  const names = [...route.path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  const isStart = route.right === 'start';
  const words = names.map((name) =>
    fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...(isStart ? ['@new'] : (KNOWN[name] ?? ['x']))) },
      { weight: 1, arbitrary: oddText },
    ),
  );
  const documented = OPERATIONS[`${route.method} ${route.path}`];
  const queryNames =
    route.server === 'monitor' ? (documented?.query ?? []).map(({ name }) => name) : AGENT_QUERY;
  const queryName =
    queryNames.length === 0
      ? oddText
      : fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...queryNames) }, { weight: 1, arbitrary: oddText });
  const own = (documented?.headers ?? []).map(({ name }) =>
    fc.tuple(fc.constant(name), fc.oneof(fc.constantFrom('0', '1', 'key-1', 'key-2'), oddText)),
  );
  const mayHaveBody = !/GET|CHANNEL/.test(route.method);
  return fc.record({
    way: fc.oneof(
      {
        weight: 15,
        arbitrary: fc.constant(route.method === 'CHANNEL' ? ('channel' as const) : ('plain' as const)),
      },
      { weight: 1, arbitrary: fc.constant('raw' as const) },
    ),
    words: fc.tuple(...words),
    query: fc.array(fc.tuple(queryName, QUERY_VALUES), { maxLength: 4 }),
    headers: fc.array(fc.oneof(HEADERS, ...own), { maxLength: 2 }),
    contentType: CONTENT_TYPES,
    body: mayHaveBody ? bodies(examplesOf(route)) : fc.constant(null),
    delegates: fc.oneof(
      { weight: 9, arbitrary: fc.constant(true) },
      { weight: 1, arbitrary: fc.constant(false) },
    ),
    frames: route.method === 'CHANNEL' ? FRAMES : fc.constant([]),
    fault: FAULT,
  });
}
