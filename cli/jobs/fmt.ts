import { formatJobText, formOf } from '../../src/wire/job-file/format.ts';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';
import { writeText } from '../command/write-text.ts';
import { eachJobFile } from './validate.ts';

/**
 * Writes job files in their one form, and prints the names of those that were not; `-` is standard input, to standard output.
 *
 * @param check nothing is written: exit code 1 when a file is not in that form
 */
export async function fmt(
  context: Context,
  files: readonly string[],
  { check }: { readonly check: boolean },
): Promise<number> {
  const { terminal } = context;
  let changed = 0;
  const allValid = await eachJobFile(context, files, async ({ file, text, job }) => {
    const formatted = formatJobText(text, job, formOf(text));
    if (formatted !== text) changed += 1;
    if (file === '-' && !check) terminal.out(formatted);
    else if (formatted !== text) {
      if (!check) await writeText(file, formatted, 'moorage fmt - <FILE   (prints it)');
      terminal.out(`${file}\n`);
    }
  });
  if (!allValid) return EXIT.badSpec;
  return check && changed > 0 ? EXIT.workloadFailed : EXIT.ok;
}
