import type { CallPermits, OpenCall } from './call-permits.ts';
import { LATE_MS } from './call-permits.ts';
import { WaitQueue } from './wait-queue.ts';

/**
 * A call that fails sooner than this without an answer, such as a refused connection, holds nothing up and is no silence.
 * Shorter than every call's deadline.
 */
const FAILS_SOON_MS = 2_000;
/** How long a host counts as silent after a call without an answer, unless it answers. */
const SILENT_FOR_MS = 60_000;
/** Orders to one host at once, and as many questions, while it answers. */
const ANSWERING_MAX = 16;
/** The same before its first answer, and while it is late. */
const UNHEARD_MAX = 2;
/** The same while it is silent: one answer says as much as several. */
const SILENT_MAX = 1;

/**
 * An order makes the host do something, or decides about such an order; a question can be put to another host, or later.
 * Neither waits for the other.
 */
export const CALL_KINDS = ['order', 'question'] as const;
export type CallKind = (typeof CALL_KINDS)[number];

export interface CallToHost extends OpenCall {
  readonly kind: CallKind;
}

export interface WaitingCall {
  /** Asked when it is to be sent, which may be after a long time. */
  readonly isWanted: () => boolean;
  /** Sends it. @param permits of which it takes one */
  readonly send: (permits: CallPermits, address: string) => void;
  /** It is not sent: its caller gets that as the result. */
  readonly skip: () => void;
}

/** The calls to one host, each kind first in, first out, and what their results say of it. Times are monotonic. */
export class HostQueue {
  readonly host: string;
  readonly waiting = { order: new WaitQueue<WaitingCall>(), question: new WaitQueue<WaitingCall>() };
  /** Calls to the host's present address, in the order in which they were sent. */
  readonly #open = { order: new Set<CallToHost>(), question: new Set<CallToHost>() };
  #address: string | undefined;
  #answeredMs = Number.NEGATIVE_INFINITY;
  #silentUntilMs = Number.NEGATIVE_INFINITY;

  constructor(host: string, address: string | undefined) {
    this.host = host;
    this.#address = address;
  }

  get isIdle(): boolean {
    return CALL_KINDS.every((kind) => this.#open[kind].size === 0 && this.waiting[kind].length === 0);
  }

  skipWaiting(): void {
    for (const kind of CALL_KINDS) {
      const waiting = this.waiting[kind];
      for (let call = waiting.first; call !== undefined; call = waiting.first) {
        waiting.shift();
        call.skip();
      }
    }
  }

  /** Did a call lately end without an answer, and none bring one since? */
  isSilent(nowMs: number): boolean {
    return this.#silentUntilMs > nowMs;
  }

  get silentUntilMs(): number {
    return this.#silentUntilMs;
  }

  mayTake(kind: CallKind, nowMs: number): boolean {
    const { size } = this.#open[kind];
    if (this.isSilent(nowMs)) return size < SILENT_MAX;
    const isAnswering = Number.isFinite(this.#answeredMs) && this.#unansweredForMs(nowMs) < LATE_MS;
    return size < (isAnswering ? ANSWERING_MAX : UNHEARD_MAX);
  }

  /** The host's address now. What was known of it at another one, and calls under way to that, say nothing of it here. */
  movedTo(address: string | undefined): void {
    if (address === this.#address) return;
    this.#address = address;
    for (const kind of CALL_KINDS) this.#open[kind].clear();
    this.#answeredMs = Number.NEGATIVE_INFINITY;
    this.#silentUntilMs = Number.NEGATIVE_INFINITY;
  }

  sent(call: CallToHost): void {
    this.#open[call.kind].add(call);
  }

  /** @param isAnswered something came back, however late, even a refusal */
  ended(call: CallToHost, isAnswered: boolean, nowMs: number): void {
    if (!this.#open[call.kind].delete(call)) return;
    if (isAnswered || nowMs - call.startedMs < FAILS_SOON_MS) {
      this.#answeredMs = nowMs;
      this.#silentUntilMs = Number.NEGATIVE_INFINITY;
    } else if (this.#answeredMs < call.startedMs) this.#silentUntilMs = nowMs + SILENT_FOR_MS;
  }

  /** For how long calls have waited without any answer. */
  #unansweredForMs(nowMs: number): number {
    let sinceMs = nowMs;
    for (const kind of CALL_KINDS)
      for (const { startedMs } of this.#open[kind])
        // A call that was sent before the last answer may hang for reasons of its own.
        if (startedMs >= this.#answeredMs) {
          sinceMs = Math.min(sinceMs, startedMs);
          break;
        }
    return nowMs - sinceMs;
  }
}
