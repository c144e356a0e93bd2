import type { Channel, ChannelClient } from '../ports/http.ts';
import { HttpError } from '../ports/http.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import { Backoff } from '../runtime/wait/backoff.ts';
import { sleep } from '../runtime/wait/wait.ts';
import { Waker } from '../runtime/wait/waker.ts';
import type {
  AttachEnd,
  AttachState,
  HostFrame,
  SignalAnswer,
  SignalOrder,
} from '../wire/api/attach-frames.ts';
import { decodeHostFrame, encodeClientFrame } from '../wire/api/attach-frames.ts';
import { InputBuffer } from './input-buffer.ts';
import { isPassing, problemErrorOf } from './clients.ts';

export interface AttachTarget {
  readonly allocation: string;
  readonly task?: string;
  readonly command?: string;
}

export interface AttachDeps {
  readonly channels: ChannelClient;
  readonly clock: Clock;
  readonly random: Random;
  /** Base URLs of hosts or monitors that reach the target; tried in turn. */
  readonly addresses: () => readonly string[];
  /** Bytes as they come, each once. Reading waits until it resolves. null: none are wanted. */
  readonly onOutput: ((stream: 'stdout' | 'stderr', bytes: Uint8Array) => Promise<void> | void) | null;
  /** Older bytes were given up by the host: this many are missing. */
  readonly onGap?: (stream: 'stdout' | 'stderr', bytes: number) => void;
  /** Default `free`: writes unless another session does. */
  readonly input?: 'none' | 'free' | 'take';
  /** Another session writes: input that is written here from now on is dropped. */
  readonly onHeld?: () => void;
  /** Bound on the time without an answer. Default a minute. */
  readonly outageMaxMs?: number;
}

const OPEN_TIMEOUT_MS = 5_000;
const OUTAGE_MAX_MS = 60_000;
/** A person watches: output of a moment should not be missed. */
const RECONNECT = { firstMs: 20, maxMs: 250 };
/** Input that was sent and not confirmed; the other side holds four times as much. */
const WINDOW_BYTES = 256 * 1024;
const INPUT_CHUNK_BYTES = 32 * 1024;
/** Beyond all that any task writes: from here on nothing comes. */
const NO_OUTPUT_OFFSET = 1e15 - 1;
/** Input that is held to be sent again. */
const HELD_BYTES_MAX = 1024 * 1024;

/**
 * A client that is attached to a task or a command, over any number of cuts. It keeps what the other side has not confirmed
 * (input, signals, the size of its window) and repeats what may not have arrived; offsets and command ids make that harmless
 * (S2.4 to S2.7).
 */
export class AttachSession {
  readonly #target: AttachTarget;
  readonly #deps: AttachDeps;
  readonly #input = new InputBuffer(HELD_BYTES_MAX);
  readonly #signals = new Map<string, Waiting>();
  readonly #at: { stdout: number; stderr: number };
  readonly #changed = new Waker();
  /** Where this session's first byte lies in the task's input; null until the host says it. */
  #origin: number | null = null;
  #size: { readonly rows: number; readonly columns: number } | null = null;
  #state: AttachState | null = null;
  #tries = 0;
  /** The same after each cut: the host knows by it which session held the input. */
  readonly #session: string;
  #inputMode: 'none' | 'free' | 'take';
  /** Offset of the first byte that was never sent, from this session's first one. */
  #sentMax = 0;

  constructor(target: AttachTarget, deps: AttachDeps) {
    this.#target = target;
    this.#deps = deps;
    const from = deps.onOutput === null ? NO_OUTPUT_OFFSET : 0;
    this.#at = { stdout: from, stderr: from };
    this.#session = sessionId(deps.random);
    this.#inputMode = deps.input ?? 'free';
  }

  /** As of the host's last message; null before. */
  get state(): AttachState | null {
    return this.#state;
  }

  /** Resolves when more may be written. */
  async write(bytes: Uint8Array): Promise<void> {
    if (this.#input.ended) return;
    const written = this.#input.write(bytes);
    this.#changed.wake();
    await written;
  }

  endInput(): void {
    this.#input.finish();
    this.#changed.wake();
  }

  resize(rows: number, columns: number): void {
    this.#size = { rows, columns };
    this.#changed.wake();
  }

  /** Resolves when the signal was sent, or its target had ended. */
  signal(order: SignalOrder): Promise<SignalAnswer> {
    return new Promise((answer) => {
      this.#signals.set(order.commandId, { order, answer });
      this.#changed.wake();
    });
  }

  /**
   * Runs until the target has ended and all its output came.
   * @returns null when `signal` was aborted first
   * @throws ProblemError when there is no such target; HttpError after too long without an answer
   */
  async run(signal: AbortSignal): Promise<AttachEnd | null> {
    while (!signal.aborted) {
      const channel = await this.#connect(signal);
      if (channel === null) return null;
      const end = await this.#exchange(channel, signal);
      if (end === null) continue;
      this.#input.drop();
      for (const { order, answer } of this.#signals.values())
        answer({ commandId: order.commandId, errno: null });
      return end;
    }
    return null;
  }

  async #connect(signal: AbortSignal): Promise<Channel | null> {
    const { clock, random, outageMaxMs = OUTAGE_MAX_MS } = this.#deps;
    const backoff = new Backoff(RECONNECT, random);
    const sinceMs = clock.monotonicMs();
    while (!signal.aborted) {
      try {
        return await this.#open(signal);
      } catch (error) {
        if (!(error instanceof HttpError)) throw error;
        if (clock.monotonicMs() - sinceMs > outageMaxMs) throw error;
      }
      this.#tries += 1;
      await sleep(clock, backoff.nextMs(), signal);
    }
    return null;
  }

  /** @throws HttpError for what may pass, ProblemError for what will not */
  async #open(signal: AbortSignal): Promise<Channel> {
    const addresses = this.#deps.addresses();
    const base = addresses[this.#tries % Math.max(1, addresses.length)];
    if (base === undefined) throw new HttpError('there is no address to ask', { sent: false });
    const { allocation, ...part } = this.#target;
    const { stdout, stderr } = this.#at;
    const claim = { session: this.#session, input: this.#inputMode };
    const query = new URLSearchParams({ ...part, ...claim, stdout: String(stdout), stderr: String(stderr) });
    const url = `${base}/v1/allocations/${allocation}/attach?${query.toString()}`;
    const answer = await this.#deps.channels.open({ url, to: 'monitor', timeoutMs: OPEN_TIMEOUT_MS, signal });
    if (answer.kind === 'open') return answer.channel;
    const { status } = answer.answer;
    const error = problemErrorOf(answer.answer);
    if (isPassing(status)) throw new HttpError(error.message, { sent: true, cause: error });
    throw error;
  }

  async #exchange(channel: Channel, signal: AbortSignal): Promise<AttachEnd | null> {
    const over = new AbortController();
    const ends = AbortSignal.any([over.signal, signal]);
    const sent: SentState = { at: 0, ended: false, size: null, signals: new Set() };
    let sending: Promise<void> | null = null;
    try {
      for await (const message of channel.messages) {
        const frame = decodeHostFrame(message);
        if (frame === null) continue;
        if (frame.kind === 'ended') return frame.end;
        await this.#receive(frame, sent);
        if (frame.kind === 'state') sending ??= this.#sendLoop(channel, sent, ends).catch(() => undefined);
      }
      return null;
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      return null;
    } finally {
      over.abort();
      channel.close();
      await sending;
    }
  }

  async #receive(frame: HostFrame, sent: SentState): Promise<void> {
    if (frame.kind === 'output') return this.#output(frame.stream, frame.offset, frame.bytes);
    if (frame.kind === 'state') {
      this.#state = frame.state;
      this.#origin ??= frame.state.inputNext;
      // Input that was taken over once is not taken over again after a cut.
      if (this.#inputMode === 'take') this.#inputMode = 'free';
      // More than this session ever sent: another one wrote during the cut.
      const isForeign = frame.state.inputNext - this.#origin > this.#sentMax;
      if (this.#inputMode !== 'none' && (frame.state.inputHeld === true || isForeign)) this.#loseInput();
      else this.#confirm(frame.state.inputNext);
      sent.at = this.#input.start;
      if (!frame.state.inputOpen) this.#input.drop();
    } else if (frame.kind === 'taken') {
      if (frame.refused === 'held') return this.#loseInput();
      this.#confirm(frame.next);
      if (frame.refused === 'gap') sent.at = this.#input.start;
      else if (frame.refused !== null) this.#input.drop();
    } else if (frame.kind === 'signalled') {
      const { commandId } = frame.answer;
      this.#signals.get(commandId)?.answer(frame.answer);
      this.#signals.delete(commandId);
    }
    this.#changed.wake();
  }

  /** For good: the session that took the input may have written anything. */
  #loseInput(): void {
    if (this.#inputMode === 'none') return;
    this.#inputMode = 'none';
    this.#input.drop();
    this.#deps.onHeld?.();
  }

  #confirm(next: number): void {
    this.#input.confirm(next - (this.#origin ?? 0));
  }

  async #output(stream: 'stdout' | 'stderr', offset: number, bytes: Uint8Array): Promise<void> {
    const at = this.#at[stream];
    if (offset > at) this.#deps.onGap?.(stream, offset - at);
    const fresh = bytes.subarray(Math.min(bytes.length, Math.max(0, at - offset)));
    this.#at[stream] = Math.max(at, offset + bytes.length);
    if (fresh.length > 0) await this.#deps.onOutput?.(stream, fresh);
  }

  /** Sends what has not been sent on this channel, until it ends. @throws HttpError when it was cut */
  async #sendLoop(channel: Channel, sent: SentState, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // Before sending: what changes meanwhile is sent in the next pass.
      const change = this.#changed.wait(signal);
      await this.#sendChanges(channel, sent);
      await change;
    }
  }

  async #sendChanges(channel: Channel, sent: SentState): Promise<void> {
    if (this.#size !== null && sent.size !== this.#size) {
      sent.size = this.#size;
      await channel.send(encodeClientFrame({ kind: 'resize', ...this.#size }));
    }
    for (const { order } of this.#signals.values()) {
      if (sent.signals.has(order.commandId)) continue;
      sent.signals.add(order.commandId);
      await channel.send(encodeClientFrame({ kind: 'signal', order }));
    }
    if (this.#inputMode === 'none') return;
    const origin = this.#origin ?? 0;
    while (sent.at < this.#input.end && sent.at - this.#input.start < WINDOW_BYTES) {
      const bytes = this.#input.read(sent.at, INPUT_CHUNK_BYTES);
      const offset = origin + sent.at;
      sent.at += bytes.length;
      this.#sentMax = Math.max(this.#sentMax, sent.at);
      await channel.send(encodeClientFrame({ kind: 'input', offset, bytes }));
    }
    if (!this.#input.ended || sent.ended || sent.at < this.#input.end) return;
    sent.ended = true;
    await channel.send(encodeClientFrame({ kind: 'end-input', offset: origin + this.#input.end }));
  }
}

function sessionId(random: Random): string {
  return [...random.bytes(8)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** What was sent on the present channel. */
interface SentState {
  /** Offset of the next byte of input, from this session's first one. */
  at: number;
  ended: boolean;
  size: { readonly rows: number; readonly columns: number } | null;
  readonly signals: Set<string>;
}

interface Waiting {
  readonly order: SignalOrder;
  readonly answer: (answer: SignalAnswer) => void;
}
