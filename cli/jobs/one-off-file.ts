import type { Context } from '../command/context.ts';
import { CliError, EXIT, usageError } from '../command/exit.ts';

export interface RunOnceOptions {
  readonly name?: string;
  readonly cpu?: string;
  readonly memory?: string;
  readonly disk?: string;
  readonly gpu?: string;
  readonly deadline?: string;
  readonly waitMax?: string;
  readonly priority?: string;
  readonly env: readonly string[];
  readonly constraint: readonly string[];
  readonly detach: boolean;
  readonly interactive: boolean;
  readonly tty: boolean;
  /** False: no input, though some is given. */
  readonly stdin: boolean;
  /** How often it may be started again when it fails. */
  readonly retries?: number;
  /** `1-100`: the command once for each index. */
  readonly array?: string;
}

/** What of this terminal the command gets. */
export interface Inputs {
  readonly stdin: boolean;
  readonly terminal: boolean;
}

/** @throws CliError for flags that contradict each other */
export function inputsOf({ terminal }: Pick<Context, 'terminal'>, options: RunOnceOptions): Inputs {
  const { interactive, tty, stdin, detach, array } = options;
  if (array !== undefined && (interactive || tty))
    throw usageError('-i and -t join one command, and --array runs many', 'moorage run --help');
  if (detach && (interactive || tty))
    throw usageError('-i and -t join this terminal to the run, and --detach leaves it', 'moorage run --help');
  if (interactive && !stdin)
    throw usageError('--interactive gives it the input, and --no-stdin does not', 'moorage run --help');
  const isInput = !detach && stdin && array === undefined && (interactive || terminal.inputGiven);
  if (isInput && (options.retries ?? 0) > 0)
    throw usageError(
      '--retries starts it again, and what is piped in can be read once',
      'moorage run --no-stdin --retries N -- COMMAND',
    );
  return { stdin: isInput, terminal: tty };
}

/** How many allocations the run asks for. @throws CliError */
export function countOf({ array }: RunOnceOptions): number {
  return array === undefined ? 1 : arrayOf(array).count;
}

/** The first index and how many there are. @throws CliError */
function arrayOf(text: string): { readonly first: number; readonly count: number } {
  const match = /^(\d{1,9})-(\d{1,9})$/.exec(text);
  const [first, last] = [Number(match?.[1]), Number(match?.[2])];
  if (match !== null && last >= first) return { first, count: last - first + 1 };
  throw usageError(`--array ${text}: write it as 1-100, the first index and the last`, 'moorage run --help');
}

/** The variable that tells a task of an array which one it is. */
const ARRAY_INDEX = 'MOORAGE_ARRAY_INDEX';
/** As long as a window may be: retries do not come back. */
const RETRY_WINDOW = '24d';
const RETRY_DELAY = '1s';

function restartOf(retries: number): Record<string, unknown> {
  if (retries === 0) return { attempts: 0, on: 'never' };
  return { attempts: retries, on: 'failure', window: RETRY_WINDOW, delay: RETRY_DELAY };
}

/**
 * The job file of a one-off run. What a flag says is checked before anything is sent, by what reads job files; that takes
 * longer to load than all else here, and a command without flags has nothing to be checked: the monitor reads it anyway.
 *
 * @throws CliError
 */
export async function oneOffFile(
  { namespace }: Context,
  command: readonly string[],
  options: RunOnceOptions,
  inputs: Inputs,
): Promise<unknown> {
  const { retries = 0 } = options;
  const array = options.array === undefined ? null : arrayOf(options.array);
  const env = [
    ...options.env.map(splitEnv),
    ...(array === null ? [] : [[ARRAY_INDEX, `\${alloc.index+${String(array.first)}}`]]),
  ];
  const resources = {
    ...given('cpu', options.cpu),
    ...given('memory', options.memory),
    ...given('disk', options.disk),
    ...given('gpu', options.gpu === undefined ? undefined : gpuOption(options.gpu)),
  };
  const flags = {
    ...given('name', options.name),
    ...given('namespace', namespace === 'default' ? undefined : namespace),
    ...(env.length === 0 ? {} : { env: Object.fromEntries(env) as Record<string, string> }),
    ...given('count', array?.count),
    ...(Object.keys(resources).length === 0 ? {} : { resources }),
    ...given('deadline', options.deadline),
    ...given('waitMax', options.waitMax),
    ...given('priority', options.priority === undefined ? undefined : Number(options.priority)),
    ...(options.constraint.length === 0 ? {} : { constraints: options.constraint }),
  };
  const file = {
    // The monitor adds an id of its own.
    ...{ name: 'run', type: 'batch', oneOff: true, command },
    ...flags,
    ...(inputs.stdin ? { stdin: true } : {}),
    ...(inputs.terminal ? { terminal: true } : {}),
    // A command runs once: the user decides whether it runs again.
    restart: restartOf(retries),
    reschedule: { attempts: 0 },
  };
  if (Object.keys(flags).length > 0) await check(file);
  return file;
}

async function check(file: unknown): Promise<void> {
  const { formatProblem, parseJobObject } = await import('../../src/wire/job-file/job-file.ts');
  const reading = parseJobObject(file);
  if (reading.ok) return;
  const lines = reading.problems.map((problem) => formatProblem(problem).replace(/^error: /, ''));
  throw new CliError(EXIT.usage, lines.join('\n'), 'moorage run --help');
}

function given(key: string, value: unknown): Record<string, unknown> {
  return value === undefined ? {} : { [key]: value };
}

function gpuOption(text: string): unknown {
  return /^\d+$/.test(text) ? Number(text) : { share: text };
}

function splitEnv(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw new CliError(EXIT.usage, `--env ${text}: write it as NAME=value`, 'moorage run --help');
}
