import { readName } from '../../src/core/names/names.ts';
import { HttpError } from '../../src/ports/http.ts';
import { NdjsonError } from '../../src/core/json/ndjson.ts';
import type { NameChange } from '../../src/wire/api/names-api.ts';
import type { Context } from '../command/context.ts';
import { usageError } from '../command/exit.ts';

const RETRY_MS = 500;

/** The whole name that somebody typed, with the namespace where it was left out. @throws CliError */
export function wholeName({ namespace }: Context, typed: string): string {
  const text = typed.split('.').length === 3 ? `${typed}.${namespace}` : typed;
  if (readName(text) !== null) return text.toLowerCase();
  throw usageError(
    `"${typed}" is no name: write PORT.GROUP.JOB, or PORT.GROUP.JOB.NAMESPACE`,
    'moorage names',
  );
}

/**
 * Every change of the name, or of all names of the namespaces, first as they are. After a cut it goes on at another monitor,
 * which tells all of it again. Ends when the command is interrupted.
 * @throws ProblemError
 */
export async function* followNames(
  context: Context,
  which: { readonly name?: string; readonly namespace?: string },
): AsyncGenerator<NameChange> {
  const { terminal, interrupted } = context;
  const api = await context.api();
  let isCut = false;
  while (!interrupted.aborted) {
    try {
      for await (const frame of api.followNames(which)) {
        if (isCut) terminal.err('following again\n');
        isCut = false;
        if (frame.kind === 'name') yield frame;
      }
    } catch (error) {
      if (interrupted.aborted) return;
      if (!(error instanceof HttpError || error instanceof NdjsonError)) throw error;
      if (!isCut) terminal.err(`${error.message}; what is known stays, and it is tried again\n`);
      isCut = true;
    }
    await terminal.sleep(RETRY_MS, interrupted);
  }
}
