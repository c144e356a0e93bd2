import type { Command } from 'commander';
import { CommanderError, InvalidArgumentError } from 'commander';
import type { Context, GlobalOptions } from './command/context.ts';
import { makeContext } from './command/context.ts';
import { CliError, EXIT, unexpected } from './command/exit.ts';
import { buildProgram, VERSION_FLAGS } from './program.ts';
import type { Terminal } from './command/terminal.ts';

/**
 * Runs one command line. @returns its exit code; nothing is thrown: an error goes to standard error, with what to type next
 */
export async function runCli(
  args: readonly string[],
  terminal: Terminal,
  interrupted: AbortSignal,
): Promise<number> {
  let code: number = EXIT.ok;
  const dashes = args.indexOf('--');
  const own = dashes < 0 ? args : args.slice(0, dashes);
  const command = dashes < 0 ? null : args.slice(dashes + 1);
  if (VERSION_FLAGS.some((flag) => flag === own[0])) {
    const { VERSION } = await import('./command/version.ts');
    terminal.out(`moorage ${VERSION}\n`);
    return EXIT.ok;
  }
  const program = buildProgram({
    command,
    verb: own[0],
    run: async (options: GlobalOptions, action: (context: Context) => Promise<number> | number) => {
      const leave = exitOnInterrupt(terminal, interrupted);
      const context = await makeContext(options, { terminal, interrupted, endInOrder: leave.never });
      try {
        const shown =
          options.watch === true
            ? (await import('./command/watch.ts')).watch(context, action)
            : action(context);
        code = await Promise.race([Promise.resolve(shown), leave.now]);
      } finally {
        leave.never();
      }
    },
  });
  program.hook('preAction', (_, verb) => {
    if (command !== null && !['run', 'exec'].includes(verb.name()))
      throw new CliError(
        EXIT.usage,
        '"--" and a command belong to: moorage run, moorage exec',
        'moorage run -- echo hello',
      );
    passOn(program, verb);
  });
  program.configureOutput({ writeOut: (text) => terminal.out(text), writeErr: (text) => terminal.err(text) });
  for (const sub of program.commands) configure(sub, terminal);
  try {
    await program.parseAsync(own, { from: 'user' });
    return code;
  } catch (error) {
    return await report(error, terminal, interrupted);
  }
}

/** How long a command may still print after an interrupt. */
const LAST_OUTPUT_MS = 700;

/** `now` resolves soon after the interrupt, unless `never` was called. */
function exitOnInterrupt(
  terminal: Terminal,
  interrupted: AbortSignal,
): { now: Promise<number>; never: () => void } {
  const never = new AbortController();
  const now = new Promise<number>((resolve) => {
    const leave = async (): Promise<void> => {
      await terminal.sleep(LAST_OUTPUT_MS, never.signal);
      if (!never.signal.aborted) resolve(EXIT.signalBase + 2);
    };
    if (interrupted.aborted) void leave();
    else interrupted.addEventListener('abort', () => void leave(), { once: true, signal: never.signal });
  });
  return { now, never: () => never.abort() };
}

/** Options before the verb stand for the same ones behind it; those behind it win. */
function passOn(program: Command, verb: Command): void {
  for (const option of program.options) {
    const name = option.attributeName();
    const takesIt = verb.options.some((known) => known.attributeName() === name);
    if (program.getOptionValueSource(name) !== 'cli' || verb.getOptionValueSource(name) === 'cli') continue;
    if (takesIt) verb.setOptionValueWithSource(name, program.getOptionValue(name), 'cli');
  }
}

function configure(command: Command, terminal: Terminal): void {
  command.exitOverride();
  command.showHelpAfterError(`next: moorage ${nameOf(command)} --help`);
  command.configureOutput({ writeOut: (text) => terminal.out(text), writeErr: (text) => terminal.err(text) });
  for (const sub of command.commands) configure(sub, terminal);
}

function nameOf(command: Command): string {
  const parent = command.parent;
  return parent === null || parent.parent === null ? command.name() : `${nameOf(parent)} ${command.name()}`;
}

async function report(error: unknown, terminal: Terminal, interrupted: AbortSignal): Promise<number> {
  // Commander has printed its own errors already, but not those of an option's parser.
  if (error instanceof CommanderError && !(error instanceof InvalidArgumentError))
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  const explained = await explain(error);
  if (interrupted.aborted && !(error instanceof CliError)) return EXIT.signalBase + 2;
  terminal.err(
    explained.message.includes(': error: ') ? `${explained.message}\n` : `moorage: ${explained.message}\n`,
  );
  if (explained.hint !== null) terminal.err(`next: ${explained.hint}\n`);
  if (terminal.env.MOORAGE_DEBUG !== undefined && error instanceof Error)
    terminal.err(`${error.stack ?? ''}\n`);
  return explained.exitCode;
}

async function explain(error: unknown): Promise<CliError> {
  if (error instanceof CliError) return error;
  if (error instanceof InvalidArgumentError) return new CliError(EXIT.usage, error.message, 'moorage help');
  const [{ ConnectError }, { ProblemError }, { HttpError }, { StoreError }] = await Promise.all([
    import('../src/connect/connect-error.ts'),
    import('../src/wire/api/problem.ts'),
    import('../src/ports/http.ts'),
    import('../src/ports/cell-store.ts'),
  ]);
  if (error instanceof ConnectError) return new CliError(EXIT.usage, error.message, error.hint, error);
  if (error instanceof ProblemError) return (await import('./command/problems.ts')).cliErrorOf(error.problem);
  if (error instanceof HttpError) {
    const called = error.sent
      ? 'moorage hosts   (or another --address)'
      : 'moorage dev   (or name a monitor with --address)';
    const hint = /CERT|SSL|TLS/i.test(error.message)
      ? 'the cell wants a certificate: --credentials FOLDER, made by moorage pki issue --role operator'
      : called;
    return new CliError(EXIT.unreachable, error.message, hint, error);
  }
  if (error instanceof StoreError)
    return new CliError(
      EXIT.unreachable,
      `the store: ${error.message}`,
      'check that etcd is up and --etcd names it',
      error,
    );
  return unexpected(error);
}
