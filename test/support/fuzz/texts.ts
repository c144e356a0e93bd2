import fc from 'fast-check';

/** Texts, numbers and JSON as no program of ours writes them. */

export const oddText = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.constantFrom(
      ...[
        '',
        ' ',
        '.',
        '..',
        '../../etc/passwd',
        '%2e%2e%2f',
        '\0',
        'a\0b',
        '-1',
        '1e999',
        '0x10',
        'NaN',
        'null',
      ],
      ...[
        '__proto__',
        'constructor',
        'prototype',
        'toString',
        'hasOwnProperty',
        '$where',
        '{{7*7}}',
        '%s%n',
        '*',
      ],
      ...[
        '\ud800',
        '\udfff\ud800',
        '\u202e',
        '\ufeff',
        '\u2028',
        'e\u0301'.repeat(40),
        '\u{1f9d1}\u200d\u{1f680}',
        '\r\nx: y',
      ],
    ),
  },
  { weight: 5, arbitrary: fc.string({ maxLength: 100 }) },
  { weight: 3, arbitrary: fc.string({ unit: 'binary', maxLength: 24 }) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('x', '\\', '"', '/', '\u00e9', '\u{1f980}')
      .chain((one) => fc.nat(5_000).map((n) => one.repeat(n))),
  },
);

/** A number as it is written, whatever a parser makes of it. */
const oddNumber = fc.oneof(
  fc.constantFrom(
    ...[
      '0',
      '-0',
      '-1',
      '1e999',
      '-1e999',
      '1e-999',
      '0.1',
      '1.5',
      '9007199254740991',
      '9007199254740993',
      '2147483648',
    ],
    ...[
      '4294967296',
      '18446744073709551616',
      '1E400',
      '0.30000000000000004',
      '9'.repeat(400),
      `0.${'1'.repeat(400)}`,
    ],
  ),
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
);

/** A part of a JSON text that is written as it stands. */
export interface Written {
  readonly written: string;
}

export type Json = null | boolean | number | string | Written | readonly Json[] | Entries;
/** Fields in their order: names may come twice. */
export interface Entries {
  readonly entries: readonly (readonly [name: string, value: Json])[];
}

export function toJson(value: unknown): Json {
  if (Array.isArray(value)) return value.map(toJson);
  if (typeof value === 'object' && value !== null)
    return { entries: Object.entries(value).map(([name, one]) => [name, toJson(one)] as const) };
  return value as Json;
}

export function isEntries(value: Json): value is Entries {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && 'entries' in value;
}

export function textOf(value: Json): string {
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(textOf).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if ('written' in value) return value.written;
  const fields = (value as Entries).entries.map(([name, one]) => `${JSON.stringify(name)}:${textOf(one)}`);
  return `{${fields.join(',')}}`;
}

/** Names that some body has, so that what is made by chance passes the first checks of some. */
export const fieldName = fc.oneof(
  fc.constantFrom(
    ...[
      'name',
      'type',
      'groups',
      'tasks',
      'command',
      'namespace',
      'count',
      'resources',
      'cpu',
      'memory',
      'v',
      'env',
    ],
    ...[
      'allocation',
      'ticket',
      'placements',
      'scheduler',
      'state',
      'id',
      'stdin',
      'signal',
      'claim',
      'epoch',
      'ports',
    ],
    ...['__proto__', 'constructor', 'prototype', 'toString', '', 'length', 'then', 'toJSON'],
  ),
  oddText,
);

export const anyJson: fc.Arbitrary<Json> = fc.letrec<{ any: Json; leaf: Json; list: Json; record: Json }>(
  (tie) => ({
    any: fc.oneof({ depthSize: 'small', maxDepth: 6 }, tie('leaf'), tie('list'), tie('record')),
    leaf: fc.oneof(
      oddText as fc.Arbitrary<Json>,
      oddNumber.map((written): Json => ({ written })),
      fc.constantFrom<Json>(null, true, false, { written: '[]' }, { written: '{}' }),
    ),
    list: fc.array(tie('any'), { maxLength: 5 }),
    record: fc.array(fc.tuple(fieldName, tie('any')), { maxLength: 8 }).map((entries): Json => ({ entries })),
  }),
).any;
