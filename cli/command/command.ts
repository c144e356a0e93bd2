/**
 * What every command works with. This file defines verbs and their common options. A verb's action gets a `context.ts`, which
 * has:
 *
 * - `terminal.ts`: where it reads and writes;
 * - the client of a monitor, of the cell that `src/connect` finds, and with what it shows there;
 * - the form of the output.
 *
 * It returns an exit code of `exit.ts` or throws a `CliError`; `problems.ts` makes one of a monitor's error answer. Files are
 * read and written with `read-text.ts` and `write-text.ts`, whose faults `write-exit-code.ts` gives an exit code. `version.ts` is the version of
 * this program; `watch.ts` shows an answer again whenever it is another one; `parent-gone.ts` reports the end of the parent process,
 * `reader-gone.ts` ends a command whose output nobody reads any more.
 */
import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import type { Context, GlobalOptions } from './context.ts';

/** Runs a verb's action in a context made from the parsed options; the action returns the exit code. */
export type Runner = (
  options: GlobalOptions,
  action: (context: Context) => Promise<number> | number,
) => Promise<void>;

/** With what a room adds its verbs. */
export interface ProgramInput {
  readonly run: Runner;
  /** The words behind `--`; null: there was no `--`. */
  readonly command: readonly string[] | null;
}

/** Beyond this many addresses something is wrong with the command line. */
const REPEATS_MAX = 128;

/** For options that may be given several times. */
export function collect(value: string, previous: readonly string[]): string[] {
  if (previous.length >= REPEATS_MAX)
    throw new InvalidArgumentError(`more than ${String(REPEATS_MAX)} times`);
  return [...previous, value];
}

function outputOption(): Option {
  const forms = ['table', 'wide', 'json', 'yaml', 'name'];
  return new Option('-o, --output <form>', 'form of the answer').choices(forms);
}

const ADDRESS = [
  '--address <url>',
  'a monitor; repeat it, or use commas, for several (MOORAGE_ADDR)',
] as const;
export const CREDENTIALS = [
  '--credentials <folder>',
  'your certificate and key, where the cell wants them (MOORAGE_CREDENTIALS)',
] as const;
const CONTEXT = [
  '--context <name>',
  'a saved cell, as moorage context lists them (MOORAGE_CONTEXT)',
] as const;
const NAMESPACE = ['-n, --namespace <name>', 'namespace of the jobs (MOORAGE_NAMESPACE)'] as const;

/** The options of cell verbs may stand before the verb too. */
export function globalOptions(program: Command): Command {
  return program
    .enablePositionalOptions()
    .addOption(outputOption())
    .option(...ADDRESS, collect, [])
    .option(...CREDENTIALS)
    .option(...CONTEXT)
    .option(...NAMESPACE);
}

/** A verb whose answer can be shown in several forms. */
export function verb(program: Command, definition: string, description: string): Command {
  return program.command(definition).description(description).addOption(outputOption());
}

/** A verb that asks a cell. */
export function cellVerb(program: Command, definition: string, description: string): Command {
  return verb(program, definition, description)
    .option(...ADDRESS, collect, [])
    .option(...CREDENTIALS)
    .option(...CONTEXT)
    .option(...NAMESPACE);
}

/** A verb that shows how something of a cell stands. */
export function shownVerb(program: Command, definition: string, description: string): Command {
  return cellVerb(program, definition, description).option(
    '-w, --watch',
    'show it again whenever it is another one, until Ctrl-C; -o json: a line each',
    false,
  );
}

/** Parses a flag that takes a whole number, or `all`: null. */
export function countOrAll(most: number): (text: string) => number | null {
  const read = wholeNumber(0, most);
  return (text) => (text === 'all' ? null : read(text));
}

/** Parses a flag that takes a whole number. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d{1,15}$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`expected a whole number from ${String(least)} to ${String(most)}`);
  };
}
