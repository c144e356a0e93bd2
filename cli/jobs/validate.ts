import type { Group, Job } from '../../src/core/cell/job.ts';
import { slotsMaxOf } from '../../src/core/cell/job.ts';
import type { JobProblem } from '../../src/wire/job-file/job-file.ts';
import { formatProblem, jobToFile, parseJobText } from '../../src/wire/job-file/job-file.ts';
import type { Context } from '../command/context.ts';
import { CliError, EXIT } from '../command/exit.ts';
import { printAnswer } from '../output/output.ts';
import { plural } from '../../src/wire/values/words.ts';
import { readText } from '../command/read-text.ts';

/** Checks job files; no cell is asked. */
export async function validate(context: Context, files: readonly string[]): Promise<number> {
  const allValid = await eachJobFile(context, files, async ({ file, job }) => {
    const text = (): string => `${file}: ${describe(job)}\n`;
    await printAnswer(context, jobToFile(job), { name: job.name, text });
  });
  return allValid ? EXIT.ok : EXIT.badSpec;
}

export interface JobFileText {
  readonly file: string;
  readonly text: string;
  readonly job: Job;
}

/** Tells of the files that are not valid what is wrong. @param take is given the others, in turn @returns whether all are valid */
export async function eachJobFile(
  { terminal }: Context,
  files: readonly string[],
  take: (valid: JobFileText) => Promise<void>,
): Promise<boolean> {
  let allValid = true;
  for (const file of files) {
    const text = await readText(file);
    const reading = parseJobText(text, file);
    if (reading.ok) await take({ file, text, job: reading.job });
    else {
      allValid = false;
      terminal.err(`${linesOf(reading.problems)}\n`);
    }
  }
  return allValid;
}

function describe(job: Job): string {
  const groups = Object.values(job.groups);
  const count = job.type === 'system' ? 'one on every matching host' : allocationsText(groups);
  return `${job.type} job "${job.name}" is valid: ${plural(groups.length, 'group')}, ${count}`;
}

function allocationsText(groups: readonly Group[]): string {
  const least = groups.reduce((sum, { count }) => sum + count, 0);
  const most = groups.reduce((sum, group) => sum + slotsMaxOf(group), 0);
  if (most === least) return plural(least, 'allocation');
  return `${plural(least, 'allocation')}, up to ${String(most)} while there is idle capacity`;
}

/** @throws CliError when the file holds no valid job; every problem is in the message */
export async function readJobFile(file: string): Promise<Job> {
  const reading = parseJobText(await readText(file), file);
  if (reading.ok) return reading.job;
  throw new CliError(
    EXIT.badSpec,
    linesOf(reading.problems),
    `moorage explain job   (or edit ${file} and run: moorage validate ${file})`,
  );
}

/** One fault may show in many places; a person reads no more of them at once. */
const PROBLEMS_SHOWN_MAX = 20;

export function linesOf(problems: readonly JobProblem[]): string {
  const lines = problems.slice(0, PROBLEMS_SHOWN_MAX).map(formatProblem);
  const more = problems.length - lines.length;
  return more === 0 ? lines.join('\n') : `${lines.join('\n')}\nand ${plural(more, 'more problem')}`;
}
