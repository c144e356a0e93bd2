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
  /** A command inside the task. */
  readonly command?: string;
}

export interface AttachDeps {
  readonly channels: ChannelClient;
  readonly clock: Clock;
  readonly random: Random;
  /** Base URLs of hosts or monitors that can join us to the target; asked in turn. */
  readonly addresses: () => readonly string[];
  /** Bytes as they come, each once. While it has not resolved, nothing more is read. */
  readonly onOutput: (stream: 'stdout' | 'stderr', bytes: Uint8Array) => Promise<void> | void;
  /** Older bytes were given up by the host: this many are missing. */
  readonly onGap?: (stream: 'stdout' | 'stderr', bytes: number) => void;
  /** Default `free`: writes unless somebody else does. */
  readonly input?: 'none' | 'free' | 'take';
  /** Somebody else writes: what is written here from now on goes nowhere. */
  readonly onHeld?: () => void;
  /** How long nobody may answer before the session gives up. Default a minute. */
  readonly outageMaxMs?: number;
}

const OPEN_TIMEOUT_MS = 5_000;
const OUTAGE_MAX_MS = 60_000;
/** Somebody looks at a screen: what comes up for a moment is not to be missed. */
const RECONNECT = { firstMs: 20, maxMs: 250 };
/** Input that was sent and not taken: what the other side lets wait at most is four times this. */
const WINDOW_BYTES = 256 * 1024;
const INPUT_CHUNK_BYTES = 32 * 1024;
/** Input that is held for sending again. */
const HELD_BYTES_MAX = 1024 * 1024;

/**
 * A client that is attached to a task or a command, over any number of losses of whatever is in between. It keeps what the
 * other side has not confirmed (input, signals, the size of its window) and says again what may not have arrived; offsets
 * and command ids make that harmless (S2.4 to S2.7).
 */
export class AttachSession {
  readonly #target: AttachTarget;
  readonly #deps: AttachDeps;
  readonly #input = new InputBuffer(HELD_BYTES_MAX);
  readonly #signals = new Map<string, Waiting>();
  readonly #at = { stdout: 0, stderr: 0 };
  readonly #news = new Waker();
  /** Where our first byte lies in the task's input; null until we are told. */
  #origin: number | null = null;
  #size: { readonly rows: number; readonly columns: number } | null = null;
  #state: AttachState | null = null;
  #turn = 0;
  /** The same after each cut, by which the host knows who held the input. */
  readonly #session: string;
  #wish: 'none' | 'free' | 'take';
  /** Offset of the first byte that was never said, from our first one. */
  #said = 0;

  constructor(target: AttachTarget, deps: AttachDeps) {
    this.#target = target;
    this.#deps = deps;
    this.#session = sessionId(deps.random);
    this.#wish = deps.input ?? 'free';
  }

  /** As the host said it last; null before. */
  get state(): AttachState | null {
    return this.#state;
  }

  /** Resolves when there is room for more. */
  async write(bytes: Uint8Array): Promise<void> {
    if (this.#input.ended) return;
    const room = this.#input.write(bytes);
    this.#news.wake();
    await room;
  }

  endInput(): void {
    this.#input.finish();
    this.#news.wake();
  }

  resize(rows: number, columns: number): void {
    this.#size = { rows, columns };
    this.#news.wake();
  }

  /** Resolves when it was sent, or its target had ended. */
  signal(order: SignalOrder): Promise<SignalAnswer> {
    return new Promise((answer) => {
      this.#signals.set(order.commandId, { order, answer });
      this.#news.wake();
    });
  }

  /**
   * Runs until the target has ended and all its output came.
   * @returns null when `signal` was aborted first
   * @throws ProblemError when there is no such target; HttpError when nobody answers for too long
   */
  async run(signal: AbortSignal): Promise<AttachEnd | null> {
    while (!signal.aborted) {
      const channel = await this.#connect(signal);
      if (channel === null) return null;
      const end = await this.#talk(channel, signal);
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
      this.#turn += 1;
      await sleep(clock, backoff.nextMs(), signal);
    }
    return null;
  }

  /** @throws HttpError for what may pass, ProblemError for what will not */
  async #open(signal: AbortSignal): Promise<Channel> {
    const addresses = this.#deps.addresses();
    const base = addresses[this.#turn % Math.max(1, addresses.length)];
    if (base === undefined) throw new HttpError('there is no address to ask', { sent: false });
    const { allocation, ...part } = this.#target;
    const { stdout, stderr } = this.#at;
    const own = { session: this.#session, input: this.#wish };
    const query = new URLSearchParams({ ...part, ...own, stdout: String(stdout), stderr: String(stderr) });
    const url = `${base}/v1/allocations/${allocation}/attach?${query.toString()}`;
    const answer = await this.#deps.channels.open({ url, timeoutMs: OPEN_TIMEOUT_MS, signal });
    if (answer.kind === 'open') return answer.channel;
    const { status } = answer.answer;
    const error = problemErrorOf(answer.answer);
    if (isPassing(status)) throw new HttpError(error.message, { sent: true, cause: error });
    throw error;
  }

  async #talk(channel: Channel, signal: AbortSignal): Promise<AttachEnd | null> {
    const over = new AbortController();
    const talking = AbortSignal.any([over.signal, signal]);
    const saying: Saying = { at: 0, ended: false, size: null, signals: new Set() };
    let speaking: Promise<void> | null = null;
    try {
      for await (const message of channel.messages) {
        const frame = decodeHostFrame(message);
        if (frame === null) continue;
        if (frame.kind === 'ended') return frame.end;
        await this.#hear(frame, saying);
        if (frame.kind === 'state') speaking ??= this.#speak(channel, saying, talking).catch(() => undefined);
      }
      return null;
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      return null;
    } finally {
      over.abort();
      channel.close();
      await speaking;
    }
  }

  async #hear(frame: HostFrame, saying: Saying): Promise<void> {
    if (frame.kind === 'output') return this.#output(frame.stream, frame.offset, frame.bytes);
    if (frame.kind === 'state') {
      this.#state = frame.state;
      this.#origin ??= frame.state.inputNext;
      // What was taken once is not taken again after a cut.
      if (this.#wish === 'take') this.#wish = 'free';
      // More than we ever said: while we were cut, somebody else wrote.
      const isForeign = frame.state.inputNext - this.#origin > this.#said;
      if (this.#wish !== 'none' && (frame.state.inputHeld === true || isForeign)) this.#lose();
      else this.#taken(frame.state.inputNext);
      saying.at = this.#input.start;
      if (!frame.state.inputOpen) this.#input.drop();
    } else if (frame.kind === 'taken') {
      if (frame.refused === 'held') return this.#lose();
      this.#taken(frame.next);
      if (frame.refused === 'gap') saying.at = this.#input.start;
      else if (frame.refused !== null) this.#input.drop();
    } else if (frame.kind === 'signalled') {
      const { commandId } = frame.answer;
      this.#signals.get(commandId)?.answer(frame.answer);
      this.#signals.delete(commandId);
    }
    this.#news.wake();
  }

  /** For good: whoever took the input may have written anything. */
  #lose(): void {
    if (this.#wish === 'none') return;
    this.#wish = 'none';
    this.#input.drop();
    this.#deps.onHeld?.();
  }

  #taken(next: number): void {
    this.#input.taken(next - (this.#origin ?? 0));
  }

  async #output(stream: 'stdout' | 'stderr', offset: number, bytes: Uint8Array): Promise<void> {
    const at = this.#at[stream];
    if (offset > at) this.#deps.onGap?.(stream, offset - at);
    const fresh = bytes.subarray(Math.min(bytes.length, Math.max(0, at - offset)));
    this.#at[stream] = Math.max(at, offset + bytes.length);
    if (fresh.length > 0) await this.#deps.onOutput(stream, fresh);
  }

  /** Says what has not been said on this channel, until it is over. @throws HttpError when it was cut */
  async #speak(channel: Channel, saying: Saying, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // Taken before looking: what comes while we send is looked at in the next round.
      const news = this.#news.wait(signal);
      await this.#say(channel, saying);
      await news;
    }
  }

  async #say(channel: Channel, saying: Saying): Promise<void> {
    if (this.#size !== null && saying.size !== this.#size) {
      saying.size = this.#size;
      await channel.send(encodeClientFrame({ kind: 'resize', ...this.#size }));
    }
    for (const { order } of this.#signals.values()) {
      if (saying.signals.has(order.commandId)) continue;
      saying.signals.add(order.commandId);
      await channel.send(encodeClientFrame({ kind: 'signal', order }));
    }
    if (this.#wish === 'none') return;
    const origin = this.#origin ?? 0;
    while (saying.at < this.#input.end && saying.at - this.#input.start < WINDOW_BYTES) {
      const bytes = this.#input.read(saying.at, INPUT_CHUNK_BYTES);
      const offset = origin + saying.at;
      saying.at += bytes.length;
      this.#said = Math.max(this.#said, saying.at);
      await channel.send(encodeClientFrame({ kind: 'input', offset, bytes }));
    }
    if (!this.#input.ended || saying.ended || saying.at < this.#input.end) return;
    saying.ended = true;
    await channel.send(encodeClientFrame({ kind: 'end-input', offset: origin + this.#input.end }));
  }
}

function sessionId(random: Random): string {
  return [...random.bytes(8)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** What was said on the present channel. */
interface Saying {
  /** Offset of the next byte of input, from our first one. */
  at: number;
  ended: boolean;
  size: { readonly rows: number; readonly columns: number } | null;
  readonly signals: Set<string>;
}

interface Waiting {
  readonly order: SignalOrder;
  readonly answer: (answer: SignalAnswer) => void;
}
