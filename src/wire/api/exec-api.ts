import { z } from 'zod';
import type { Exit } from '../../core/cell/allocation.ts';
import { id, plainText } from './api.ts';
import { ENV_NAME } from './host-requests.ts';
import * as bounds from '../values/bounds.ts';

/**
 * Commands and signals inside an allocation that runs, at its host and, under the same paths, at every monitor.
 *
 *   POST /v1/allocations/:id/exec              ExecRequest   → 200 CommandStatus | 409 Problem `not-running`
 *   GET  /v1/allocations/:id/exec/:command     –             → 200 CommandStatus | 404 Problem `no-command`
 *   POST /v1/allocations/:id/signal            SignalRequest → 200 SignalAnswer | 409 Problem `not-running`
 *   GET  /v1/allocations/:id/attach?task&command&stdout&stderr&session&input
 *                                              WebSocket, see `attach-frames.ts`. One client may write: with
 *                                              `input=free` the first (the default), with `input=take` this one from now
 *                                              on; with `input=none` it only reads. `session`: the same after a cut
 */
export interface ExecRequest {
  /** Chosen by the caller before the call. A second call with the id runs nothing, and gets the status of the first. */
  readonly commandId: string;
  /** Default: the first that is no sidecar. */
  readonly task?: string;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly terminal?: { readonly rows: number; readonly columns: number };
  /** Its input is the attached client's. Default false: none. */
  readonly input?: boolean;
}

export interface CommandStatus {
  readonly commandId: string;
  readonly task: string;
  readonly state: 'starting' | 'running' | 'ended';
  readonly exit?: Exit;
  /** Of a command that could not be run at all: the system's error number. */
  readonly execErrno?: number;
}

export interface SignalRequest {
  readonly commandId: string;
  readonly task?: string;
  /** A command inside the task instead of the task itself. */
  readonly command?: string;
  readonly signal: string;
}

const COMMAND_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$/;
const commandId = z.string().regex(COMMAND_ID);

/** What is none names no command; and as a part of a path it could lead elsewhere. */
export function isCommandId(text: string): boolean {
  return COMMAND_ID.test(text);
}

const size = z.int().min(1).max(10_000);

export const execRequest: z.ZodType<ExecRequest> = z.strictObject({
  commandId,
  task: z.exactOptional(id),
  command: z.array(plainText(bounds.ARG_BYTES_MAX)).min(1).max(bounds.ARGS_MAX),
  env: z.exactOptional(z.record(z.string().regex(ENV_NAME), plainText(bounds.ENV_BYTES_MAX))),
  cwd: z.exactOptional(plainText(bounds.ARG_BYTES_MAX)),
  terminal: z.exactOptional(z.strictObject({ rows: size, columns: size })),
  input: z.exactOptional(z.boolean()),
});

const PLAIN_SIGNALS = [
  ...(['HUP', 'INT', 'QUIT', 'ABRT', 'KILL', 'USR1', 'USR2', 'PIPE', 'ALRM', 'TERM', 'CHLD'] as const),
  ...(['CONT', 'STOP', 'TSTP', 'TTIN', 'TTOU', 'URG', 'XCPU', 'WINCH', 'IO', 'PWR'] as const),
];

/** Names that every Linux knows: `SIGHUP`, `SIGRTMIN+3`. */
function isSignal(name: string): boolean {
  if (/^SIGRTMIN(\+([1-9]|[12][0-9]|30))?$/.test(name)) return true;
  return PLAIN_SIGNALS.some((plain) => name === `SIG${plain}`);
}

export const signalRequest: z.ZodType<SignalRequest> = z.strictObject({
  commandId,
  task: z.exactOptional(id),
  command: z.exactOptional(commandId),
  signal: z.string().refine(isSignal, { error: 'is no signal' }),
});
