import type { Context } from '../command/context.ts';
import { CliError, EXIT } from '../command/exit.ts';

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
): Promise<unknown> {
  const resources = {
    ...given('cpu', options.cpu),
    ...given('memory', options.memory),
    ...given('disk', options.disk),
    ...given('gpu', options.gpu === undefined ? undefined : gpuOption(options.gpu)),
  };
  const flags = {
    ...given('name', options.name),
    ...given('namespace', namespace === 'default' ? undefined : namespace),
    ...(options.env.length === 0 ? {} : { env: Object.fromEntries(options.env.map(splitEnv)) }),
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
    // A command runs once: the user decides whether it runs again.
    restart: { attempts: 0, on: 'never' },
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
