import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import type { Context, GlobalOptions } from './context.ts';

/** What a verb's action is given to run with: the parsed options and where to report the code. */
export type Runner = (
  options: GlobalOptions,
  action: (context: Context) => Promise<number> | number,
) => Promise<void>;

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
const NAMESPACE = ['-n, --namespace <name>', 'namespace of the jobs (MOORAGE_NAMESPACE)'] as const;

/** The options of cell verbs may stand before the verb too. */
export function globalOptions(program: Command): Command {
  return program
    .enablePositionalOptions()
    .addOption(outputOption())
    .option(...ADDRESS, collect, [])
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
    .option(...NAMESPACE);
}

/** A verb about jobs that take an end: all the flags of a whole number are read here. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d{1,15}$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`expected a whole number from ${String(least)} to ${String(most)}`);
  };
}
