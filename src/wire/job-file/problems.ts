import type { z } from 'zod';
import type { Path } from './yaml-source.ts';
import { didYouMean } from '../values/suggest.ts';

/** One fault of a job file. Line and column, from 1, are there when it was read from text. */
export interface JobProblem {
  /** `groups.web.count`; empty for the file as a whole. */
  readonly path: string;
  readonly text: string;
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
}

/** A fault and its place, as keys from the root of the file. */
export interface RuleFault {
  readonly path: readonly (string | number)[];
  readonly text: string;
}

/** `bad.yaml:5:12: error: groups.web.count: must be 1 or more` */
export function formatProblem(problem: JobProblem): string {
  return graded(problem, 'error');
}

/** `web.yaml:7:3: advice: groups.web.deadline: …` */
export function formatAdvice(problem: JobProblem): string {
  return graded(problem, 'advice');
}

function graded(problem: JobProblem, grade: string): string {
  const { file, line, column } = problem;
  const place = line === undefined ? (file ?? '') : `${file ?? 'job'}:${String(line)}:${String(column ?? 1)}`;
  return [
    ...(place === '' ? [] : [place]),
    grade,
    ...(problem.path === '' ? [] : [problem.path]),
    problem.text,
  ].join(': ');
}

/** A fault before it has a place in a text. */
export interface Fault {
  readonly path: Path;
  readonly text: string;
  /** Which part of the pair at the path is wrong. */
  readonly part: 'key' | 'value';
  /** Characters into the value where the fault begins. */
  readonly column: number;
  /** A key within the path's map that the fault is about: shown by its position, not in the path. */
  readonly key?: string;
}

export function pathText(path: Path): string {
  return path
    .map((step, index) => {
      if (typeof step === 'number') return `[${String(step)}]`;
      return index === 0 ? step : `.${step}`;
    })
    .join('');
}

/** Of a key that has no place, where nothing else is known of it than the keys that have one. */
export function unknownOf(key: string, known: readonly string[]): string {
  return `unknown key "${key}"${didYouMean(key, known) || `; known here: ${known.join(', ')}`}`;
}

type Issue = z.core.$ZodIssue;

/** Turns what the schema found into sentences for people. `unknown` tells of a key that has no place at a path. */
export function faultsOf(
  issues: readonly Issue[],
  value: unknown,
  unknown: (key: string, path: Path) => string,
): Fault[] {
  return issues.flatMap((issue) => faultsOfIssue(issue, value, unknown));
}

function faultsOfIssue(issue: Issue, value: unknown, unknown: (key: string, path: Path) => string): Fault[] {
  const path = issue.path.map((step) => (typeof step === 'number' ? step : String(step)));
  const fault = (text: string, column = 0): Fault => ({ path, text, part: 'value', column });
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({
        ...{ path, key, part: 'key', column: 0 },
        text: unknown(key, path),
      }));
    case 'invalid_key':
      return issue.issues.map((inner) => ({ ...fault(inner.message), part: 'key' }));
    case 'invalid_union':
      return faultsOfUnion(issue, path, value, unknown);
    case 'invalid_value':
      return [fault(optionsText(issue.values.map(String), at(value, path)))];
    case 'invalid_type':
      return [fault(typeText(issue.expected, at(value, path)))];
    case 'too_small':
    case 'too_big':
      return [fault(boundText(issue))];
    case 'custom':
      return [fault(issue.message, Number((issue.params as { column?: number } | undefined)?.column ?? 0))];
    default:
      return [fault(issue.message)];
  }
}

/** Of a union, the faults of the branch that got furthest into the value. */
function faultsOfUnion(
  issue: Extract<Issue, { code: 'invalid_union' }>,
  path: Path,
  value: unknown,
  unknown: (key: string, path: Path) => string,
): Fault[] {
  const deep = issue.errors.find((branch) =>
    branch.some((inner) => inner.path.length > 0 || inner.code === 'unrecognized_keys'),
  );
  if (deep !== undefined)
    return deep.flatMap((inner) =>
      faultsOfIssue({ ...inner, path: [...path, ...inner.path] }, value, unknown),
    );
  return [{ path, text: issue.message, part: 'value', column: 0 }];
}

function optionsText(options: readonly string[], found: unknown): string {
  const list = options.length === 1 ? (options[0] ?? '') : `one of ${options.join(', ')}`;
  if (typeof found !== 'string') return `must be ${list}`;
  return `must be ${list}, not "${found}"${didYouMean(found, options)}`;
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'text',
  boolean: 'true or false',
  array: 'a list',
  record: 'a map',
  object: 'a map',
};

function typeText(expected: string, found: unknown): string {
  const wanted = TYPE_NAMES[expected] ?? expected;
  if (found === undefined) return `is missing; expected ${wanted}`;
  if (typeof found === 'number' && expected === 'int')
    return `expected a whole number, found ${String(found)}`;
  return `expected ${wanted}, found ${nameOf(found)}`;
}

function nameOf(found: unknown): string {
  if (found === null) return 'nothing';
  if (Array.isArray(found)) return 'a list';
  if (typeof found === 'object') return 'a map';
  if (typeof found === 'string') return `the text "${found.slice(0, 40)}"`;
  return typeof found === 'number' ? `the number ${String(found)}` : `a ${typeof found}`;
}

function boundText(issue: Extract<Issue, { code: 'too_small' | 'too_big' }>): string {
  // A message written in the schema is better than the bound alone.
  if (!/^Too (small|big)/.test(issue.message)) return issue.message;
  const things: Readonly<Record<string, string>> = { array: ' entries', string: ' characters' };
  const unit = things[issue.origin] ?? '';
  return issue.code === 'too_small'
    ? `Too small: must be at least ${String(issue.minimum)}${unit}`
    : `Too big: must be at most ${String(issue.maximum)}${unit}`;
}

function at(value: unknown, path: Path): unknown {
  let found = value;
  for (const step of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = (found as Record<string | number, unknown>)[step];
  }
  return found;
}
