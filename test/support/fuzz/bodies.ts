import fc from 'fast-check';
import type { Json } from './texts.ts';
import { anyJson, fieldName, isEntries, textOf, toJson } from './texts.ts';

/** What is done at one place of a body; `where` chooses the place. */
interface Change {
  readonly how: 'replace' | 'drop' | 'add' | 'twice' | 'wrap' | 'many';
  readonly where: number;
  readonly name: string;
  readonly value: Json;
}

const change: fc.Arbitrary<Change> = fc.record({
  how: fc.constantFrom(
    'replace' as const,
    'replace' as const,
    'drop' as const,
    'add' as const,
    'twice' as const,
    'wrap' as const,
    'many' as const,
  ),
  where: fc.nat(0xffff),
  name: fieldName,
  value: anyJson,
});

/** Values below and with this one. */
function sizeOf(value: Json): number {
  if (Array.isArray(value))
    return 1 + (value as readonly Json[]).reduce<number>((sum, one) => sum + sizeOf(one), 0);
  if (!isEntries(value)) return 1;
  return 1 + value.entries.reduce((sum, [, one]) => sum + sizeOf(one), 0);
}

const MANY = 700;
/** What has more is left as it is: many of many of many is more than a process holds. */
const VALUES_MAX = 2_000;

function changedHere(value: Json, { how, name, value: other }: Change): Json {
  const list = Array.isArray(value) ? (value as readonly Json[]) : null;
  switch (how) {
    case 'replace':
      return other;
    case 'wrap':
      return list === null ? [value] : { entries: list.map((one, n) => [String(n), one] as const) };
    case 'drop':
      if (isEntries(value)) return { entries: value.entries.slice(1) };
      return list === null ? null : list.slice(1);
    case 'add':
      if (isEntries(value)) return { entries: [...value.entries, [name, other]] };
      return list === null ? { entries: [[name, other]] } : [...list, other];
    case 'twice':
      if (isEntries(value)) return { entries: [...value.entries, ...value.entries] };
      return list === null ? [value, value] : [...list, ...list];
    case 'many':
      if (isEntries(value))
        return {
          entries: Array.from(
            { length: MANY },
            (_, n) => [`${name.slice(0, 8)}${String(n)}`, value] as const,
          ),
        };
      return Array.from({ length: MANY }, () => value);
  }
}

/** @param at how many values to pass before the one that is changed */
function changed(value: Json, at: number, what: Change): Json {
  if (at === 0) return changedHere(value, what);
  let left = at - 1;
  const into = (one: Json): Json => {
    const size = sizeOf(one);
    const isHere = left >= 0 && left < size;
    const result = isHere ? changed(one, left, what) : one;
    left -= size;
    return result;
  };
  if (Array.isArray(value)) return (value as readonly Json[]).map(into);
  return isEntries(value)
    ? { entries: value.entries.map(([name, one]) => [name, into(one)] as const) }
    : value;
}

/** Of the text of a body, wherever in it. */
const spoiled = fc.record({
  how: fc.constantFrom('cut', 'insert', 'flip', 'bom', 'utf-16', 'behind', 'comment'),
  where: fc.nat(0xffff),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 6 }),
});

function spoil(
  text: string,
  { how, where, bytes }: { readonly how: string; readonly where: number; readonly bytes: Uint8Array },
): Buffer {
  const whole = Buffer.from(text);
  const at = where % (whole.length + 1);
  if (how === 'cut') return whole.subarray(0, at);
  if (how === 'insert') return Buffer.concat([whole.subarray(0, at), bytes, whole.subarray(at)]);
  if (how === 'bom') return Buffer.from(`\ufeff${text}`);
  if (how === 'utf-16') return Buffer.from(text, 'utf16le');
  if (how === 'behind') return Buffer.from(`${text}\n${text}`);
  if (how === 'comment') return Buffer.from(`// one\n${text}`);
  if (at < whole.length) whole[at] = (whole[at] ?? 0) ^ (bytes[0] ?? 1);
  return whole;
}

const nested = fc
  .record({ depth: fc.nat(20_000), kind: fc.constantFrom('[', '{"a":'), closed: fc.boolean() })
  .map(({ depth, kind, closed }) =>
    Buffer.from(kind.repeat(depth) + (closed ? `0${(kind === '[' ? ']' : '}').repeat(depth)}` : '')),
  );

const large = fc
  .record({ name: fieldName, chars: fc.nat(700_000) })
  .map(({ name, chars }) => Buffer.from(textOf({ entries: [[name, 'x'.repeat(chars)]] })));

/** Bodies for a route that takes what the examples are; null: none. */
export function bodies(examples: readonly unknown[]): fc.Arbitrary<Buffer | null> {
  const known = (examples.length === 0 ? [{}] : examples).map(toJson);
  const example = fc.constantFrom(...known);
  const mutated = fc
    .tuple(example, fc.array(change, { minLength: 1, maxLength: 3 }))
    .map(([first, changes]) =>
      changes.reduce((value, one) => {
        const size = sizeOf(value);
        return size > VALUES_MAX ? value : changed(value, one.where % size, one);
      }, first),
    );
  const written = (value: Json): Buffer => Buffer.from(textOf(value));
  return fc.oneof(
    { weight: examples.length === 0 ? 4 : 1, arbitrary: fc.constant(null) },
    { weight: 4, arbitrary: example.map(written) },
    { weight: examples.length === 0 ? 2 : 12, arbitrary: mutated.map(written) },
    { weight: 3, arbitrary: anyJson.map(written) },
    { weight: 3, arbitrary: fc.tuple(example, spoiled).map(([value, how]) => spoil(textOf(value), how)) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)) },
    { weight: 1, arbitrary: nested },
    { weight: 1, arbitrary: large },
  );
}
