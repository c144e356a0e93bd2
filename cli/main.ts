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

// Sockets that are kept for a next call would keep the process; writes to pipes and files are done by now.
process.exit(await runCli(process.argv.slice(2), processTerminal(), interrupt.signal));
