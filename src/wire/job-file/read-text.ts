import type { z } from 'zod';
import { JOB_TEXT_BYTES_MAX } from '../values/bounds.ts';
import { utf8Bytes } from '../values/safe-string.ts';
import { keysAt } from './json-schema.ts';
import type { Fault, JobProblem } from './problems.ts';
import { faultsOf, pathText, unknownOf } from './problems.ts';
import { readSource } from './yaml-source.ts';

export type Checked<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly faults: readonly Fault[] };

/**
 * The value by its schema, or every fault.
 * @param unknown what to say of a key that has no place; the keys that have one are given
 */
export function readShape<S extends z.ZodType>(
  schema: S,
  value: unknown,
  unknown: UnknownKey = unknownOf,
): Checked<z.output<S>> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return { ok: true, value: parsed.data };
  return {
    ok: false,
    faults: faultsOf(parsed.error.issues, value, (key, path) => unknown(key, keysAt(schema, path))),
  };
}

export type UnknownKey = (key: string, known: readonly string[]) => string;

type TextReading<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problems: readonly JobProblem[] };

/**
 * Reads a file, YAML 1.2 or JSON.
 *
 * @param fileName for the problems only
 * @param check of the file's value
 * @returns the checked value, or every problem with its place, in the order of the text
 */
export function readText<T>(
  text: string,
  fileName: string,
  check: (value: unknown) => Checked<T>,
): TextReading<T> {
  const whole = (problem: string): TextReading<T> => ({
    ok: false,
    problems: [{ path: '', text: problem, file: fileName, line: 1, column: 1 }],
  });
  if (text.startsWith('\uFEFF'))
    return whole('the text begins with a byte order mark; save it as plain UTF-8');
  if (utf8Bytes(text) > JOB_TEXT_BYTES_MAX) return whole(`larger than ${String(JOB_TEXT_BYTES_MAX)} bytes`);
  const source = readSource(text);
  if (source.faults.length > 0) {
    const problems = source.faults.map((fault) => ({ ...fault, path: pathText(fault.path), file: fileName }));
    return { ok: false, problems };
  }
  const checked = check(source.value);
  if (checked.ok) return checked;
  const problems = checked.faults.map((fault) => {
    const path = fault.key === undefined ? fault.path : [...fault.path, fault.key];
    const place = source.positionOf(path, fault.part, fault.column);
    return { path: pathText(fault.path), text: fault.text, file: fileName, ...place };
  });
  return { ok: false, problems: problems.sort((a, b) => a.line - b.line || a.column - b.column) };
}
