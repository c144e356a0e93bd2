#!/usr/bin/env node
import { runCli } from './run-cli.ts';
import { processTerminal } from './command/terminal.ts';

const interrupt = new AbortController();
let interrupts = 0;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => {
    interrupts += 1;
    // The first asks the command to end in order; whoever asks again means now.
    if (interrupts === 1) interrupt.abort();
    else process.exit(130);
  });

/** Why what was said did not get out; null: it did. */
let unsaid: NodeJS.ErrnoException | null = null;
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    unsaid ??= error;
    // Nobody reads on: the command ends in order, as by an interrupt, and a run of its own ends with it.
    interrupts = Math.max(interrupts, 1);
    interrupt.abort();
  });

/** What a reader that has stopped reading is given after an interrupt. */
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

const code = await runCli(process.argv.slice(2), processTerminal(), interrupt.signal);
await Promise.all([written(process.stdout), written(process.stderr)]);
// A write that failed just now is told in the next turn.
await new Promise((resolve) => setImmediate(resolve));
// Sockets that are kept for a next call would keep the process.
process.exit(unsaid === null ? code : await codeOfUnsaid(unsaid));

/** A reader that has seen enough (`| head`) is no failure of ours; output that is lost is one. */
async function codeOfUnsaid(error: NodeJS.ErrnoException): Promise<number> {
  if (error.code === 'EPIPE') return 0;
  const { fileFault, writeExitCode } = await import('./command/file-fault.ts');
  process.stderr.write(`moorage: the output could not be written: ${fileFault(error)}\n`);
  process.stderr.write('next: the same again with room for it\n');
  return writeExitCode(error);
}
