import type { Resources } from '../../core/cell/resources.ts';
import { NO_SCALARS } from '../../core/cell/resources.ts';
import { RecordError } from '../wire.ts';

/**
 * Readers for the parts of ledgers and allocations, by hand: tens of thousands of these records are read in a second, and a
 * schema takes ten times as long.
 */

/** The only layout of record values that this version reads. Added fields do not change it; changed meanings do. */
export const RECORD_VERSION = 1;

/** Far above any record that this program writes. */
export const RECORD_CHARS_MAX = 64 * 1024;

/** As a key only: a text may contain it. */
const PROTO_KEY = /"__proto__"\s*:/;

export type Fields = Readonly<Record<string, unknown>>;

/** @throws RecordError when the text is no object of the right version, or too long */
export function parseFields(kind: string, text: string): Fields {
  if (text.length > RECORD_CHARS_MAX)
    throw new RecordError(kind, `${String(text.length)} characters are too many`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new RecordError(kind, 'not JSON', cause);
  }
  const fields = asObject(kind, '', value);
  if (fields['v'] !== RECORD_VERSION)
    throw new RecordError(kind, `v: expected ${String(RECORD_VERSION)}, found ${describe(fields['v'])}`);
  // As an own key it would pass every check, and change the prototype of the object it is copied into.
  if (text.includes('"__proto__"') && PROTO_KEY.test(text))
    throw new RecordError(kind, 'the key __proto__ is not allowed');
  return fields;
}

export function asObject(kind: string, place: string, value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw wrong(kind, place, 'an object', value);
  return value as Fields;
}

export function asList(kind: string, place: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw wrong(kind, place, 'a list', value);
  return value;
}

export function asText(kind: string, place: string, value: unknown): string {
  if (typeof value !== 'string') throw wrong(kind, place, 'text', value);
  return value;
}

/** A whole number from 0 up: amounts, counters, indexes. */
export function asCount(kind: string, place: string, value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw wrong(kind, place, 'a whole number from 0 up', value);
  return value;
}

export function asOneOf<T extends string>(
  kind: string,
  place: string,
  value: unknown,
  allowed: readonly T[],
): T {
  if (!allowed.includes(value as T)) throw wrong(kind, place, `one of ${allowed.join(', ')}`, value);
  return value as T;
}

export function asCounts(kind: string, place: string, value: unknown): Readonly<Record<string, number>> {
  const fields = asObject(kind, place, value);
  for (const name of Object.keys(fields)) asCount(kind, `${place}.${name}`, fields[name]);
  return fields as Record<string, number>;
}

/** `[cpuMilli, memoryMib, diskMib]`, and the scalars as a fourth when there are any. */
export function readAmounts(kind: string, place: string, value: unknown): Resources {
  const list = asList(kind, place, value);
  if (list.length !== 3 && list.length !== 4) throw wrong(kind, place, 'three or four parts', value);
  return {
    cpuMilli: asCount(kind, place, list[0]),
    memoryMib: asCount(kind, place, list[1]),
    diskMib: asCount(kind, place, list[2]),
    scalars: list.length === 3 ? NO_SCALARS : asCounts(kind, place, list[3]),
  };
}

/** The text of `readAmounts`' value. */
export function amountsText(r: Resources): string {
  const amounts = `[${String(r.cpuMilli)},${String(r.memoryMib)},${String(r.diskMib)}`;
  const hasScalars = r.scalars !== NO_SCALARS && Object.keys(r.scalars).length > 0;
  return hasScalars ? `${amounts},${JSON.stringify(r.scalars)}]` : `${amounts}]`;
}

/** Printable ASCII without quotes and backslashes: such text is its own JSON string. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** The text as a JSON string. */
export function quote(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** `,"name":value` for each of the value's fields that is not among the known ones. */
export function unknownFieldsText(value: object, known: ReadonlySet<string>): string {
  let text = '';
  for (const [name, field] of Object.entries(value)) {
    const written = known.has(name) ? undefined : (JSON.stringify(field) as string | undefined);
    if (written !== undefined) text += `,${JSON.stringify(name)}:${written}`;
  }
  return text;
}

/** Fields besides the known ones: a newer version wrote them, and they must survive a rewrite (I64). */
export function unknownFields(fields: Fields, known: ReadonlySet<string>): Record<string, unknown> | null {
  let rest: Record<string, unknown> | null = null;
  for (const name in fields) {
    if (!known.has(name)) (rest ??= {})[name] = fields[name];
  }
  return rest;
}

export function wrong(kind: string, place: string, expected: string, found: unknown): RecordError {
  return new RecordError(
    kind,
    `${place === '' ? '' : `${place}: `}expected ${expected}, found ${describe(found)}`,
  );
}

/** Short, so that a broken record cannot fill a log. */
function describe(value: unknown): string {
  return (JSON.stringify(value) as string | undefined)?.slice(0, 60) ?? 'nothing';
}
