import type { z } from 'zod';
import type { Job } from '../../core/cell/job.ts';
import { JOB_DEPTH_MAX, JOB_KEYS_MAX, JOB_TEXT_BYTES_MAX } from '../values/bounds.ts';
import { buildJob, lengthen } from './build.ts';
import { keysAt } from './json-schema.ts';
import type { Fault, JobProblem } from './problems.ts';
import { faultsOf, pathText } from './problems.ts';
import { jobToFile } from './print.ts';
import { checkRules } from './rules.ts';
import { jobFields, longForm, shortForm } from './job-schema.ts';
import { ListedJob } from './listed-job.ts';
import { quickCheck } from '../codec/quick-check.ts';
import { utf8Bytes } from '../values/safe-string.ts';
import { readSource } from './yaml-source.ts';

export type { JobProblem } from './problems.ts';
export { formatProblem } from './problems.ts';
export { jobToFile } from './print.ts';

export type JobReading =
  { readonly ok: true; readonly job: Job } | { readonly ok: false; readonly problems: readonly JobProblem[] };

/**
 * Reads a job file, YAML 1.2 or JSON, short form or long.
 *
 * @param fileName for the problems only
 * @returns the canonical job, or every problem that was found, in the order of the text
 */
export function parseJobText(text: string, fileName: string): JobReading {
  const whole = (problem: string): JobReading => ({
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
  if (source.value === null) return whole('the file is empty; the smallest job has a name and a command');
  const result = readJob(source.value);
  if (result.ok) return result;
  const problems = result.faults.map((fault) => {
    const path = fault.key === undefined ? fault.path : [...fault.path, fault.key];
    const place = source.positionOf(path, fault.part, fault.column);
    return { path: pathText(fault.path), text: fault.text, file: fileName, ...place };
  });
  return { ok: false, problems: problems.sort((a, b) => a.line - b.line || a.column - b.column) };
}

/** The same for a value that came through the API: problems have paths, but no lines. */
export function parseJobObject(value: unknown): JobReading {
  const shape = shapeFault(value);
  if (shape !== null) return { ok: false, problems: [{ path: '', text: shape }] };
  const result = readJob(value);
  if (result.ok) return result;
  return {
    ok: false,
    problems: result.faults.map((fault) => ({ path: pathText(fault.path), text: fault.text })),
  };
}

/** What was read of a list. */
export type ListedReading =
  | { readonly ok: true; readonly listed: ListedJob }
  | { readonly ok: false; readonly problems: readonly JobProblem[] };

/**
 * Reads many, as `parseJobObject` does, but for the mark of a one-off run, which nothing on a list is. Long lists are mostly
 * one job over and over under different names: one that differs from the last by nothing but its name is not checked again.
 */
export class JobReader {
  #last: { readonly text: string; readonly model: Job; readonly isShort: boolean } | null = null;

  read(value: unknown): ListedReading {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return listed(value);
    const { name, ...rest } = value as Readonly<Record<string, unknown>>;
    const text = JSON.stringify(rest);
    const last = this.#last;
    if (last?.text === text && isName(name))
      return { ok: true, listed: new ListedJob(last.model, name, last.isShort) };
    const reading = listed(value);
    // Another name may be longer, and must not carry a job over the bound that was kept by this one.
    const isLarge = text.length * UTF8_BYTES_MAX > JOB_TEXT_BYTES_MAX / 2;
    this.#last = reading.ok && !isLarge ? { ...reading.listed, text } : null;
    return reading;
  }
}

const isPlainName = quickCheck(jobFields.name);

function isName(value: unknown): value is string {
  return isPlainName(value);
}

/** The longest UTF-8 form of one UTF-16 unit. */
const UTF8_BYTES_MAX = 3;

function listed(value: unknown): ListedReading {
  const reading = parseJobObject(value);
  if (!reading.ok) return reading;
  const { job } = reading;
  const isShort = !('groups' in (value as object));
  return { ok: true, listed: new ListedJob({ ...job, oneOff: false }, job.name, isShort) };
}

type Result =
  { readonly ok: true; readonly job: Job } | { readonly ok: false; readonly faults: readonly Fault[] };

function readJob(value: unknown): Result {
  const short = typeof value !== 'object' || value === null || !('groups' in value);
  const parsed = short ? read(shortForm, value) : read(longForm, value);
  if (!parsed.ok) return parsed;
  const long = short ? lengthen(parsed.file) : (parsed.file as z.output<typeof longForm>);
  const faults = checkRules(long).map((fault): Fault => ({
    ...fault,
    path: short ? shorten(fault.path) : fault.path,
    part: 'value',
    column: 0,
  }));
  if (faults.length > 0) return { ok: false, faults };
  const job = buildJob(long);
  const bytes = utf8Bytes(JSON.stringify(jobToFile(job)));
  if (bytes > JOB_TEXT_BYTES_MAX) {
    const text = `written out in full the job has ${String(bytes)} bytes, more than ${String(JOB_TEXT_BYTES_MAX)}`;
    return { ok: false, faults: [{ path: [], text, part: 'value', column: 0 }] };
  }
  return { ok: true, job };
}

function read<S extends typeof shortForm | typeof longForm>(
  schema: S,
  value: unknown,
): { ok: true; file: z.output<S> } | { ok: false; faults: Fault[] } {
  const parsed = schema.safeParse(value);
  if (parsed.success) return { ok: true, file: parsed.data as z.output<S> };
  return { ok: false, faults: faultsOf(parsed.error.issues, value, (path) => keysAt(schema, path)) };
}

/** `groups.<name>.tasks.<name>.x` of the written-out form is `x` in the short one. */
function shorten(path: Fault['path']): Fault['path'] {
  const inGroup = path.slice(2);
  return inGroup[0] === 'tasks' ? inGroup.slice(2) : inGroup;
}

/** Depth and width, before anything recursive looks at the value. */
function shapeFault(root: unknown): string | null {
  let keys = 0;
  let level: unknown[] = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > JOB_DEPTH_MAX) return `nested deeper than ${String(JOB_DEPTH_MAX)}`;
    const objects = level.filter((value) => typeof value === 'object' && value !== null);
    for (const object of objects) if (!Array.isArray(object)) keys += Object.keys(object).length;
    if (keys > JOB_KEYS_MAX) return `more than ${String(JOB_KEYS_MAX)} keys`;
    level = objects.flatMap((object) => Object.values(object) as unknown[]);
  }
  return null;
}
