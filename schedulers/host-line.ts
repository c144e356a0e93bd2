import type { CallPlaces, OpenCall } from './call-places.ts';
import { LATE_MS } from './call-places.ts';
import { WaitingLine } from './waiting-line.ts';

/** A host whose calls have brought no answer for so long is silent. Shorter than every call's deadline: what took longer brought none. */
const SILENT_AFTER_MS = 2_000;
/** How long it is held for silent after that, unless it answers. */
const SILENT_FOR_MS = 60_000;
/** Calls to one host at once, while it answers. */
const ANSWERING_MAX = 16;
/** The same before its first answer, and while it is late. */
const UNHEARD_MAX = 2;
/** The same while it is silent: one answer tells as much as several. */
const SILENT_MAX = 1;

/** A call that waits for its turn. */
export interface WaitingCall {
  /** Asked when the turn has come, which may take long. */
  readonly isWanted: () => boolean;
  /** Sends it. @param places that it takes one of */
  readonly send: (places: CallPlaces) => void;
  /** It is not wanted any more. */
  readonly skip: () => void;
}

/** The calls to one host, in their order, and what their ends say of it. Times are monotonic. */
export class HostLine {
  readonly host: string;
  readonly waiting = new WaitingLine<WaitingCall>();
  /** In the order in which they were sent. */
  readonly #open = new Set<OpenCall>();
  #answeredMs = Number.NEGATIVE_INFINITY;
  #silentUntilMs = Number.NEGATIVE_INFINITY;

  constructor(host: string) {
    this.host = host;
  }

  get isIdle(): boolean {
    return this.#open.size === 0 && this.waiting.length === 0;
  }

  /** Did the host not answer what it was asked lately? */
  isSilent(nowMs: number): boolean {
    return this.#silentUntilMs > nowMs || this.#unansweredForMs(nowMs) >= SILENT_AFTER_MS;
  }

  /** Until when it is held for silent, unless it answers. */
  get silentUntilMs(): number {
    return this.#silentUntilMs;
  }

  /** May it be sent one more call? */
  mayTake(nowMs: number): boolean {
    if (this.isSilent(nowMs)) return this.#open.size < SILENT_MAX;
    const isAnswering = Number.isFinite(this.#answeredMs) && this.#unansweredForMs(nowMs) < LATE_MS;
    return this.#open.size < (isAnswering ? ANSWERING_MAX : UNHEARD_MAX);
  }

  sent(call: OpenCall): void {
    this.#open.add(call);
  }

  over(call: OpenCall, nowMs: number): void {
    this.#open.delete(call);
    if (nowMs - call.startedMs < SILENT_AFTER_MS) {
      this.#answeredMs = nowMs;
      this.#silentUntilMs = Number.NEGATIVE_INFINITY;
    } else if (this.#answeredMs < call.startedMs) this.#silentUntilMs = nowMs + SILENT_FOR_MS;
  }

  /** How long it has owed us any answer. */
  #unansweredForMs(nowMs: number): number {
    // One that was sent before the last answer may hang by itself.
    for (const { startedMs } of this.#open) if (startedMs >= this.#answeredMs) return nowMs - startedMs;
    return 0;
  }
}
