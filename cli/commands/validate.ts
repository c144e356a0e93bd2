import { readFile } from 'node:fs/promises';
import type { Job } from '../../src/core/job.ts';
import { formatProblem, jobToFile, parseJobText } from '../../src/wire/job-file.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT } from '../exit.ts';
import { printValue } from '../output/print.ts';
import { plural } from '../output/words.ts';

/** Reads and checks job files; says nothing of the cell. */
export async function validate(context: Context, files: readonly string[]): Promise<number> {
  const { terminal, output } = context;
  let wrong = 0;
  for (const file of files) {
    const reading = parseJobText(await readText(file), file);
    if (!reading.ok) {
      wrong += reading.problems.length;
      for (const problem of reading.problems) terminal.err(`${formatProblem(problem)}\n`);
    } else if (output === 'json' || output === 'yaml')
      await printValue(terminal, output, jobToFile(reading.job));
    else if (output === 'name') terminal.out(`${reading.job.name}\n`);
    else terminal.out(`${file}: ${describe(reading.job)}\n`);
  }
  return wrong === 0 ? EXIT.ok : EXIT.badSpec;
}

function describe(job: Job): string {
  const groups = Object.values(job.groups);
  const count =
    job.type === 'system'
      ? 'one on every matching host'
      : plural(
          groups.reduce((n, g) => n + g.count, 0),
          'allocation',
        );
  return `${job.type} job "${job.name}" is valid: ${plural(groups.length, 'group')}, ${count}`;
}

/** @throws CliError when the file holds no valid job; every problem is in the message */
export async function readJobFile(file: string): Promise<Job> {
  const reading = parseJobText(await readText(file), file);
  if (reading.ok) return reading.job;
  const lines = reading.problems.map(formatProblem).join('\n');
  throw new CliError(
    EXIT.badSpec,
    lines,
    `moorage explain job   (or edit ${file} and run: moorage validate ${file})`,
  );
}

async function readText(file: string): Promise<string> {
  try {
    return file === '-' ? await readAll(process.stdin) : await readFile(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    const why = code === 'ENOENT' ? 'there is no such file' : code === 'EISDIR' ? 'it is a folder' : code;
    throw new CliError(
      EXIT.badSpec,
      `${file}: ${why}`,
      'moorage validate FILE   (examples lie in examples/)',
      error,
    );
  }
}

async function readAll(input: AsyncIterable<unknown>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of input) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks).toString('utf8');
}
