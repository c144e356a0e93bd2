import { adviseJobText, formatAdvice, parseJobText } from '../../src/wire/job-file/job-file.ts';
import { plural } from '../../src/wire/values/words.ts';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';
import { readText } from '../command/read-text.ts';
import { linesOf } from './validate.ts';

/**
 * Says what valid job files leave to chance; no cell is asked.
 *
 * @param strict advice is a failure: exit code 1
 */
export async function lint(
  { terminal, output }: Context,
  files: readonly string[],
  { strict }: { readonly strict: boolean },
): Promise<number> {
  let [wrong, advised] = [0, 0];
  for (const file of files) {
    const text = await readText(file);
    const reading = parseJobText(text, file);
    if (!reading.ok) {
      wrong += reading.problems.length;
      terminal.err(`${linesOf(reading.problems)}\n`);
      continue;
    }
    const advice = adviseJobText(text, file);
    advised += advice.length;
    for (const one of advice)
      terminal.out(`${output === 'json' ? JSON.stringify(one) : formatAdvice(one)}\n`);
  }
  const clean = wrong + advised === 0;
  if (clean && output === 'table') terminal.out(`nothing to say of ${plural(files.length, 'file')}\n`);
  if (wrong > 0) return EXIT.badSpec;
  return strict && advised > 0 ? EXIT.workloadFailed : EXIT.ok;
}
