import { adviseJobText, formatAdvice } from '../../src/wire/job-file/job-file.ts';
import { plural } from '../../src/wire/values/words.ts';
import type { Context } from '../command/context.ts';
import { EXIT } from '../command/exit.ts';
import { eachJobFile } from './validate.ts';

/**
 * Says what valid job files leave to chance; no cell is asked.
 *
 * @param strict advice is a failure: exit code 1
 */
export async function lint(
  context: Context,
  files: readonly string[],
  { strict }: { readonly strict: boolean },
): Promise<number> {
  const { terminal, output } = context;
  let advised = 0;
  const allValid = await eachJobFile(context, files, async ({ file, text }) => {
    const advice = adviseJobText(text, file);
    advised += advice.length;
    for (const one of advice)
      terminal.out(`${output === 'json' ? JSON.stringify(one) : formatAdvice(one)}\n`);
  });
  if (allValid && advised === 0 && output === 'table')
    terminal.out(`nothing to say of ${plural(files.length, 'file')}\n`);
  if (!allValid) return EXIT.badSpec;
  return strict && advised > 0 ? EXIT.workloadFailed : EXIT.ok;
}
