import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { systemClock, systemRandom } from '../../src/adapters/system/system.ts';
import type { AttachTarget } from '../../src/clients/attach-session.ts';
import { AttachSession } from '../../src/clients/attach-session.ts';
import type { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { AttachEnd } from '../../src/wire/api/attach-frames.ts';
import type { Context } from '../command/context.ts';
import { EXIT, signalCode } from '../command/exit.ts';
import { noInput, rawTerminal, readInput } from './own-input.ts';

export interface AttachOptions {
  /** `free`: this terminal is the input unless another client holds it. `take`: it takes the input over. */
  readonly input: 'none' | 'free' | 'take';
  /** The command has a terminal: it gets each key as it is pressed, and the size of the window. */
  readonly terminal: boolean;
}

const HELD = `moorage: somebody else types into it, and what you type here goes nowhere from now on\nnext: end this, then: moorage attach --take …\n`;

/** How long after the first interrupt this command exits even if the task runs on. */
const LEAVE_MS = 5_000;
/** The commands of shells for what cannot be run at all. */
const NOT_FOUND = 127;
const NOT_RUNNABLE = 126;
const ENOENT = 2;

/** Joins this terminal to a task or a command until that ends. @returns its exit code, as shells have it */
export async function attachTerminal(
  context: Context,
  api: MonitorClient,
  target: AttachTarget,
  options: AttachOptions,
): Promise<number> {
  context.endInOrder();
  const session = new AttachSession(target, {
    input: options.input,
    onHeld: () => context.terminal.err(HELD),
    channels: await context.channels(),
    clock: systemClock,
    random: systemRandom,
    addresses: () => api.addresses,
    onOutput: (stream, bytes) => write(stream === 'stdout' ? process.stdout : process.stderr, bytes),
    onGap: (stream, bytes) =>
      context.terminal.err(`moorage: ${String(bytes)} older bytes of ${stream} are gone\n`),
  });
  const leave = new AbortController();
  const restore = options.terminal ? rawTerminal(session) : passInterrupts(context, session, leave);
  const stopInput = options.input === 'none' ? noInput(session) : readInput(session);
  try {
    const end = await session.run(leave.signal);
    return end === null ? EXIT.signalBase + 2 : codeOf(end);
  } finally {
    stopInput();
    restore();
  }
}

function codeOf({ exit, execErrno }: AttachEnd): number {
  if (execErrno !== undefined) return execErrno === ENOENT ? NOT_FOUND : NOT_RUNNABLE;
  if (exit.code !== undefined) return exit.code;
  return exit.signal === undefined ? EXIT.ownFault : signalCode(exit);
}

/** A slow reader of our output slows the host down, through every buffer in between. */
async function write(stream: NodeJS.WriteStream, bytes: Uint8Array): Promise<void> {
  if (!stream.write(bytes)) await once(stream, 'drain');
}

/** The first Ctrl-C is for what runs there; some time after it we leave whatever happens. */
function passInterrupts(context: Context, session: AttachSession, leave: AbortController): () => void {
  let timer: NodeJS.Timeout | undefined;
  const pass = (): void => {
    void session.signal({ commandId: randomUUID(), signal: 'SIGINT' });
    timer = setTimeout(() => leave.abort(), LEAVE_MS);
  };
  context.interrupted.addEventListener('abort', pass, { once: true });
  return () => {
    context.interrupted.removeEventListener('abort', pass);
    clearTimeout(timer);
  };
}
