import { formatJobText, formOf } from '../../src/wire/job-file/format.ts';
import { parseJobText } from '../../src/wire/job-file/job-file.ts';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';
import { readText } from '../command/read-text.ts';
import { writeText } from '../command/write-text.ts';
import { linesOf } from './validate.ts';

/**
 * Writes job files in their one form, and prints the names of those that were not; `-` is standard input, to standard output.
 *
 * @param check nothing is written: exit code 1 when a file is not in that form
 */
export async function fmt(
  { terminal }: Context,
  files: readonly string[],
  { check }: { readonly check: boolean },
): Promise<number> {
  let [wrong, changed] = [0, 0];
  for (const file of files) {
    const text = await readText(file);
    const reading = parseJobText(text, file);
    if (!reading.ok) {
      wrong += reading.problems.length;
      terminal.err(`${linesOf(reading.problems)}\n`);
      continue;
    }
    const formatted = formatJobText(text, reading.job, formOf(text));
    if (formatted !== text) changed += 1;
    if (file === '-' && !check) terminal.out(formatted);
    else if (formatted !== text) {
      if (!check) await writeText(file, formatted, 'moorage fmt - <FILE   (prints it)');
      terminal.out(`${file}\n`);
    }
  }
  if (wrong > 0) return EXIT.badSpec;
  return check && changed > 0 ? EXIT.workloadFailed : EXIT.ok;
}
