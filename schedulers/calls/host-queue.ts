import type { CallPlaces, OpenCall } from './call-permits.ts';
import { LATE_MS } from './call-permits.ts';
import { WaitingLine } from './wait-queue.ts';

/**
 * What fails sooner than this without an answer, as a connection does that is refused, holds nobody up and is no silence. Shorter than every
 * call's deadline.
 */
const FAILS_SOON_MS = 2_000;
/** How long a host is held for silent after a call that brought no answer, unless it answers. */
const SILENT_FOR_MS = 60_000;
/** Orders to one host at once, and as many questions, while it answers. */
const ANSWERING_MAX = 16;
/** The same before its first answer, and while it is late. */
const UNHEARD_MAX = 2;
/** The same while it is silent: one answer tells as much as several. */
const SILENT_MAX = 1;

/**
 * An order makes the host do something, or is needed for one; a question can do without this host, or be asked later. Neither
 * waits for the other.
 */
export const CALL_KINDS = ['order', 'question'] as const;
export type CallKind = (typeof CALL_KINDS)[number];

/** A call that was sent to a host. */
export interface CallToHost extends OpenCall {
  readonly kind: CallKind;
}

/** A call that waits for its turn. */
export interface WaitingCall {
  /** Asked when the turn has come, which may take long. */
  readonly isWanted: () => boolean;
  /** Sends it. @param places that it takes one of */
  readonly send: (places: CallPlaces, address: string) => void;
  /** It is not sent, which whoever waits for its answer is told. */
  readonly skip: () => void;
}

/** The calls to one host, each kind in its order, and what their ends say of it. Times are monotonic. */
export class HostLine {
  readonly host: string;
  readonly waiting = { order: new WaitingLine<WaitingCall>(), question: new WaitingLine<WaitingCall>() };
  /** To where the host is now, in the order in which they were sent. */
  readonly #open = { order: new Set<CallToHost>(), question: new Set<CallToHost>() };
  /** Where it was last seen to be. */
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

  /** Nothing that waits is sent any more. */
  skipWaiting(): void {
    for (const kind of CALL_KINDS) {
      const waiting = this.waiting[kind];
      for (let call = waiting.first; call !== undefined; call = waiting.first) {
        waiting.shift();
        call.skip();
      }
    }
  }

  /** Did a call bring no answer lately, and none since? */
  isSilent(nowMs: number): boolean {
    return this.#silentUntilMs > nowMs;
  }

  /** Until when it is held for silent, unless it answers. */
  get silentUntilMs(): number {
    return this.#silentUntilMs;
  }

  /** May it be sent one more call of the kind? */
  mayTake(kind: CallKind, nowMs: number): boolean {
    const { size } = this.#open[kind];
    if (this.isSilent(nowMs)) return size < SILENT_MAX;
    const isAnswering = Number.isFinite(this.#answeredMs) && this.#unansweredForMs(nowMs) < LATE_MS;
    return size < (isAnswering ? ANSWERING_MAX : UNHEARD_MAX);
  }

  /** Where the host is now. What is known of it elsewhere, and what is under way to there, says nothing of it here. */
  isAt(address: string | undefined): void {
    if (address === this.#address) return;
    this.#address = address;
    for (const kind of CALL_KINDS) this.#open[kind].clear();
    this.#answeredMs = Number.NEGATIVE_INFINITY;
    this.#silentUntilMs = Number.NEGATIVE_INFINITY;
  }

  sent(call: CallToHost): void {
    this.#open[call.kind].add(call);
  }

  /** @param isAnswered something came back, however late, and be it a refusal */
  over(call: CallToHost, isAnswered: boolean, nowMs: number): void {
    if (!this.#open[call.kind].delete(call)) return;
    if (isAnswered || nowMs - call.startedMs < FAILS_SOON_MS) {
      this.#answeredMs = nowMs;
      this.#silentUntilMs = Number.NEGATIVE_INFINITY;
    } else if (this.#answeredMs < call.startedMs) this.#silentUntilMs = nowMs + SILENT_FOR_MS;
  }

  /** How long it has owed us any answer. */
  #unansweredForMs(nowMs: number): number {
    let sinceMs = nowMs;
    for (const kind of CALL_KINDS)
      for (const { startedMs } of this.#open[kind])
        // One that was sent before the last answer may hang by itself.
        if (startedMs >= this.#answeredMs) {
          sinceMs = Math.min(sinceMs, startedMs);
          break;
        }
    return nowMs - sinceMs;
  }
}
