/**
 * What goes in and out of a running task. This file joins one client to an attempt: `output.ts` sends what the attempt
 * wrote, from two offsets on; `input-holders.ts` decides which client may write; `input-writer.ts` is that client's
 * input while it may, and `input.ts` carries it to the shim. `shim-links.ts` shares one connection to each shim.
 * `log-reader.ts` reads the output of all kept attempts by offset. `signals.ts` sends each signal once.
 */
import type { Channel } from '../../src/ports/http.ts';
import type { ShimLink } from '../../src/ports/process.ts';
import type { ClientFrame, HostFrame } from '../../src/wire/api/attach-frames.ts';
import { decodeClientFrame, encodeHostFrame } from '../../src/wire/api/attach-frames.ts';
import type { ExitRecord } from '../../src/wire/host-files/attempt-files.ts';
import { endOf } from '../tasks/attempt.ts';
import type { InputHolders, InputMode } from './input-holders.ts';
import { InputWriter } from './input-writer.ts';
import { oldestOffset, readOutput } from './output.ts';
import type { AgentPorts } from '../ports.ts';
import type { ShimLinks } from './shim-links.ts';
import type { Signals } from './signals.ts';
import { exitOf } from '../tasks/tasks.ts';

export interface AttachDeps {
  readonly holders: InputHolders;
  readonly ports: AgentPorts;
  readonly links: ShimLinks;
  readonly signals: Signals;
}

/** Where a client stands that comes again; from the start of what is kept when it is new. */
export interface AttachFrom {
  readonly stdout: number;
  readonly stderr: number;
}

export interface AttachAsk extends AttachFrom {
  readonly session: string;
  readonly input: InputMode;
}

/**
 * Joins one client to one attempt of a task, or to a command in one, until that has ended or the client has gone. Any
 * number of clients may be attached, and one of them writes.
 */
export async function attach(
  deps: AttachDeps,
  name: string,
  ask: AttachAsk,
  channel: Channel,
  caller: AbortSignal,
): Promise<void> {
  const stop = new AbortController();
  const signal = AbortSignal.any([caller, stop.signal]);
  const shared = await deps.links.open(name, signal);
  const link = shared?.link ?? null;
  const send = (frame: HostFrame): Promise<void> => channel.send(encodeHostFrame(frame));
  const typist = new InputWriter(deps.ports, link, send, { session: ask.session, signal });
  let hasEnded = false;
  try {
    // Before the offset is read at which this client begins: whoever held the input has nothing on its way then.
    const holds = await deps.holders.claim(name, typist, ask.input);
    if (!holds) typist.bar();
    const state = await stateOf(deps.ports, name, ask, link);
    await send({
      kind: 'state',
      state: holds || ask.input === 'none' ? state : { ...state, inputHeld: true },
    });
    const talk = { ...deps, name, link, typist, send, signal };
    const hearing = hear(talk, channel).finally(() => stop.abort());
    // A client whose input is no longer taken comes again, and finds the next link or the end.
    void link?.ended.then(async () => {
      if ((await endOf(deps.ports, name)) === null) stop.abort();
    });
    const exit = await tell(talk, ask);
    hasEnded = exit !== null;
    if (exit !== null)
      await send({
        kind: 'ended',
        end: {
          exit: exitOf(exit),
          ...(exit.execErrno === undefined ? {} : { execErrno: exit.execErrno }),
        },
      });
    channel.close();
    await hearing;
  } finally {
    stop.abort();
    deps.holders.leave(name, typist, hasEnded);
    shared?.close();
  }
}

interface Talk extends AttachDeps {
  readonly name: string;
  readonly link: ShimLink | null;
  readonly typist: InputWriter;
  readonly send: (frame: HostFrame) => Promise<void>;
  readonly signal: AbortSignal;
}

async function stateOf(ports: AgentPorts, name: string, from: AttachFrom, link: ShimLink | null) {
  const state = (await link?.state()) ?? null;
  return {
    inputNext: state?.stdinNext ?? 0,
    inputOpen: state?.stdinOpen ?? false,
    terminal: state?.pty ?? false,
    stdout: Math.max(from.stdout, await oldestOffset(ports, name, 'stdout')),
    stderr: Math.max(from.stderr, await oldestOffset(ports, name, 'stderr')),
  };
}

async function tell({ ports, name, send, signal }: Talk, from: AttachFrom): Promise<ExitRecord | null> {
  const pieces = readOutput(ports, name, from, signal);
  for (;;) {
    const next = await pieces.next();
    if (next.done === true) return next.value;
    await send({ kind: 'output', ...next.value });
  }
}

/** Resolves when the client has ended the talk or was cut. */
async function hear(talk: Talk, channel: Channel): Promise<void> {
  try {
    for await (const message of channel.messages) {
      const frame = decodeClientFrame(message);
      // A newer client may say more.
      if (frame !== null && !(await obey(talk, frame))) return;
    }
  } catch {
    // Cut: the client comes again with its offsets.
  }
}

/** @returns false when the client does not keep to the rules */
async function obey(talk: Talk, frame: ClientFrame): Promise<boolean> {
  switch (frame.kind) {
    case 'input':
      return talk.typist.push({ ...frame, kind: 'bytes' });
    case 'end-input':
      return talk.typist.push({ kind: 'end', offset: frame.offset });
    case 'resize':
      await talk.link?.resize(frame.rows, frame.columns);
      return true;
    case 'signal': {
      const { commandId, signal } = frame.order;
      const errno = await talk.signals.send(talk.name, commandId, signal);
      await talk.send({ kind: 'signalled', answer: { commandId, errno } });
      return true;
    }
  }
}
