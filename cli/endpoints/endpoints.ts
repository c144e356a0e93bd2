/**
 * Verbs about the names of what runs (`cli/names` has what people type for jobs and allocations):
 *
 * - `list.ts` shows names and who serves them; `follow.ts` goes on with what changes, over monitors that come and go.
 * - `render.ts` keeps a file as a template and the endpoints say, for a proxy.
 */
import type { Command } from 'commander';
import type { ProgramInput } from '../command/command.ts';
import { cellVerb } from '../command/command.ts';
import type { GlobalOptions } from '../command/context.ts';
import type { ListNamesOptions } from './list.ts';
import type { RenderOptions } from './render.ts';

export function addNameVerbs(program: Command, { run }: ProgramInput): void {
  const names = cellVerb(program, 'names [name]', 'who serves a name: port.group.job.namespace')
    .option('-w, --watch', 'go on with what changes', false)
    .option('-A, --all', 'the names of all namespaces', false)
    .action((name: string | undefined, options: GlobalOptions & ListNamesOptions) =>
      run(options, async (context) => (await import('./list.ts')).listNames(context, name ?? null, options)),
    );
  cellVerb(names, 'render <name>', 'keep a file as a template and the endpoints of the name say')
    .requiredOption('--template <file>', 'a line with {address} and {port} stands once for each endpoint')
    .requiredOption('--out <file>', 'written as a whole, when it is another text')
    .option('--exec <command>', 'run by /bin/sh after each time it was written')
    .option('--once', 'write it once, and end', false)
    .action((name: string, options: GlobalOptions & RenderOptions) =>
      run(options, async (context) => (await import('./render.ts')).render(context, name, options)),
    );
}
