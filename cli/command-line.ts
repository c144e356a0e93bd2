import { runCli } from './run-cli.ts';
import { processTerminal } from './command/terminal.ts';

const interrupt = new AbortController();
let interrupts = 0;
/** Why output was lost; null: it was not. */
let lostOutput: NodeJS.ErrnoException | null = null;

/** How long a reader that has stopped reading may take after an interrupt. */
const UNREAD_MAX_MS = 300;

/** Everything written has left the process. Writes to files and pipes have by then; to a socket they have not. */
async function written(stream: NodeJS.WriteStream): Promise<void> {
  if (stream.writableLength === 0) return;
  const all = new Promise<void>((resolve) => stream.write('', () => resolve()));
  const given = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, UNREAD_MAX_MS));
  const left = new Promise<void>((resolve) => {
    if (interrupt.signal.aborted) void given().then(resolve);
    else interrupt.signal.addEventListener('abort', () => void given().then(resolve), { once: true });
  });
  await Promise.race([all, left]);
}

/** Runs the command line of this process, which ends with the command's exit code when all that it wrote has left. */
export async function runCommandLine(): Promise<never> {
  heedSignals();
  heedLostOutput();
  const code = await runCli(process.argv.slice(2), processTerminal(), interrupt.signal);
  await Promise.all([written(process.stdout), written(process.stderr)]);
  // A write that failed just now is reported in the next turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  // Sockets that are kept for a next call would keep the process.
  process.exit(lostOutput === null ? code : await codeOfLost(lostOutput));
}

function heedSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      interrupts += 1;
      // The first signal ends the command in order, the second at once.
      if (interrupts === 1) interrupt.abort();
      else process.exit(130);
    });
}

function heedLostOutput(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      lostOutput ??= error;
      // The reader is gone: the command ends in order, as by an interrupt, and its one-off run is stopped.
      interrupts = Math.max(interrupts, 1);
      interrupt.abort();
    });
}

/** A reader that closed the pipe (`| head`) is no failure; a full disk is. */
async function codeOfLost(error: NodeJS.ErrnoException): Promise<number> {
  if (error.code === 'EPIPE') return 0;
  const [{ fileFault }, { writeExitCode }] = await Promise.all([
    import('../src/adapters/disk/file-fault.ts'),
    import('./command/write-exit-code.ts'),
  ]);
  process.stderr.write(`moorage: the output could not be written: ${fileFault(error)}\n`);
  process.stderr.write('next: the same again with room for it\n');
  return writeExitCode(error);
}
