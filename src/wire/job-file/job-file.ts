/**
 * Reads a job file, YAML 1.2 or JSON, short form or long:
 *
 * 1. `read-text.ts`: the text's size, then `yaml-source.ts` makes the value and keeps the place of each part;
 * 2. `job-schema.ts`, and `task-schema.ts` for tasks, is the shape; `expression.ts` reads constraints. What the shape refuses
 *    becomes sentences in `problems.ts`, with `unknown-keys.ts` for keys that have no place;
 * 3. `rules.ts` checks what no single field can show, `volume-rules.ts` of volumes;
 * 4. `build.ts` fills in the defaults (`defaults.ts`) and makes the canonical job.
 *
 * `advice.ts` says what a valid job leaves to chance. `print.ts` turns a job back into a file, `format.ts` brings a written file into one form. `json-schema.ts` gives the shape to editors. `listed-job.ts` is a job of a long
 * list, where most jobs differ by name only.
 */
import type { Job } from '../../core/cell/job.ts';
import { JOB_DEPTH_MAX, JOB_KEYS_MAX, JOB_TEXT_BYTES_MAX } from '../values/bounds.ts';
import { adviceOn } from './advice.ts';
import { buildJob, lengthen } from './build.ts';
import { RUN_TYPE } from './defaults.ts';
import type { Fault, JobProblem } from './problems.ts';
import { pathText } from './problems.ts';
import type { Checked } from './read-text.ts';
import { readShape, readText } from './read-text.ts';
import { jobToFile } from './print.ts';
import { unknownKey } from './unknown-keys.ts';
import type { RuleFault } from './problems.ts';
import { checkRules } from './rules.ts';
import type { LongFile } from './job-schema.ts';
import { jobFields, longForm, shortForm } from './job-schema.ts';
import { ListedJob } from './listed-job.ts';
import { quickCheck } from '../codec/quick-check.ts';
import { utf8Bytes } from '../values/safe-string.ts';

export type { JobProblem } from './problems.ts';
export { formatAdvice, formatProblem } from './problems.ts';
export { jobToFile } from './print.ts';

export type JobReading =
  { readonly ok: true; readonly job: Job } | { readonly ok: false; readonly problems: readonly JobProblem[] };

/**
 * @param fileName for the problems only
 * @returns the canonical job, or every problem that was found, in the order of the text
 */
export function parseJobText(text: string, fileName: string): JobReading {
  const reading = readText(text, fileName, (value) => (value === null ? EMPTY : readJob(value)));
  return reading.ok ? { ok: true, job: reading.value } : reading;
}

/**
 * What could be better in a job file, each with its place, in the order of the text.
 *
 * @param text of a valid file
 * @param fileName for the places only
 */
export function adviseJobText(text: string, fileName: string): readonly JobProblem[] {
  const reading = readText<never>(text, fileName, (value) => {
    const { long, isShort } = longOf(value);
    return { ok: false, faults: long.ok ? placed(adviceOn(long.value), isShort) : long.faults };
  });
  return reading.ok ? [] : reading.problems;
}

const EMPTY = refused('the file is empty; the smallest job has a name and a command');

function refused(text: string): Checked<never> {
  return { ok: false, faults: [{ path: [], text, part: 'value', column: 0 }] };
}

/** The same for a value that came through the API: problems have paths, but no lines. */
export function parseJobObject(value: unknown): JobReading {
  const shape = shapeFault(value);
  const result = shape === null ? readJob(value) : refused(shape);
  if (result.ok) return { ok: true, job: result.value };
  return {
    ok: false,
    problems: result.faults.map((fault) => ({ path: pathText(fault.path), text: fault.text })),
  };
}

/** The same for a one-off run. A run is a batch job: its file may leave the type out, and no other type is taken. */
export function parseRunObject(value: unknown): JobReading {
  const isUntyped =
    typeof value === 'object' && value !== null && !Array.isArray(value) && !('type' in value);
  const reading = parseJobObject(isUntyped ? { ...value, type: RUN_TYPE } : value);
  if (!reading.ok || reading.job.type === RUN_TYPE) return reading;
  const text = `a one-off run is a ${RUN_TYPE} job, which ends; a ${reading.job.type} job is started again for ever`;
  return { ok: false, problems: [{ path: 'type', text }] };
}

export type ListedReading =
  | { readonly ok: true; readonly listed: ListedJob }
  | { readonly ok: false; readonly problems: readonly JobProblem[] };

/**
 * Reads the jobs of a list as `parseJobObject` does, and clears the mark of a one-off run. Long lists mostly repeat one job
 * under different names: a job that differs from the last one by name only is not checked again.
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
    // Another name may be longer: a job near the bound is checked again.
    const isLarge = text.length * UTF8_BYTES_MAX > JOB_TEXT_BYTES_MAX / 2;
    this.#last = reading.ok && !isLarge ? { ...reading.listed, text } : null;
    return reading;
  }
}

const isName = quickCheck(jobFields.name) as (value: unknown) => value is string;

/** The longest UTF-8 form of one UTF-16 unit. */
const UTF8_BYTES_MAX = 3;

function listed(value: unknown): ListedReading {
  const reading = parseJobObject(value);
  if (!reading.ok) return reading;
  const { job } = reading;
  const isShort = !('groups' in (value as object));
  return { ok: true, listed: new ListedJob({ ...job, oneOff: false }, job.name, isShort) };
}

function readJob(value: unknown): Checked<Job> {
  const { long, isShort } = longOf(value);
  if (!long.ok) return long;
  const faults = placed(checkRules(long.value), isShort);
  if (faults.length > 0) return { ok: false, faults };
  const job = buildJob(long.value);
  const bytes = utf8Bytes(JSON.stringify(jobToFile(job)));
  if (bytes > JOB_TEXT_BYTES_MAX)
    return refused(
      `written out in full the job has ${String(bytes)} bytes, more than ${String(JOB_TEXT_BYTES_MAX)}`,
    );
  return { ok: true, value: job };
}

/** The long form of a file of either. */
function longOf(value: unknown): { readonly long: Checked<LongFile>; readonly isShort: boolean } {
  const isShort = typeof value !== 'object' || value === null || !('groups' in value);
  if (!isShort) return { long: readShape(longForm, value, unknownKey), isShort };
  const short = readShape(shortForm, value, unknownKey);
  return { long: short.ok ? { ok: true, value: lengthen(short.value) } : short, isShort };
}

/** Where the file has them. */
function placed(faults: readonly RuleFault[], isShort: boolean): readonly Fault[] {
  return faults.map(({ path, text }) => ({
    ...{ text, part: 'value', column: 0 },
    path: isShort ? shorten(path) : path,
  }));
}

/** `groups.<name>.tasks.<name>.x` of the written-out form is `x` in the short one. */
function shorten(path: Fault['path']): Fault['path'] {
  const inGroup = path.slice(2);
  return inGroup[0] === 'tasks' ? inGroup.slice(2) : inGroup;
}

/** Bounds depth and width before any recursive function gets the value. */
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
