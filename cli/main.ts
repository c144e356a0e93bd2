#!/usr/bin/env node
import { runCli } from './run-cli.ts';
import { processTerminal } from './terminal.ts';

// A reader that has seen enough (`| head`) is no failure of ours.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });

const interrupt = new AbortController();
let interrupts = 0;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => {
    interrupts += 1;
    // The first asks the command to end in order; whoever asks again means now.
    if (interrupts === 1) interrupt.abort();
    else process.exit(130);
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
// Sockets that are kept for a next call would keep the process.
process.exit(code);
