import type { CallQueue } from '../src/ports/call-queue.ts';
import type { Clock } from '../src/ports/clock.ts';

/** Calls to one host at once, so that no few hosts take the places of all others. */
const HOST_MAX = 16;
/** A host whose calls have brought no answer for so long is silent: they take milliseconds. */
const SILENT_AFTER_MS = 2_000;
/** How long it is held for silent after that, unless it answers. */
const SILENT_FOR_MS = 60_000;

/** Where calls wait for their turn. */
export type Calls = Pick<CallQueue, 'add'>;

export interface HostCallsParts {
  readonly clock: Clock;
  /** Bounds the calls to hosts, whatever they are for. */
  readonly first: Calls;
  /** The same for calls that failed before, and to hosts that were silent: they must not hold up those that answer. */
  readonly retries: Calls;
}

interface Line {
  readonly host: string;
  /** All that are under way, or wait. */
  calls: number;
  /** Calls that hold a place among the first ones, or wait for it. */
  entered: number;
  /** Calls that the host is to answer. */
  asked: number;
  /** Those that wait until some of them are over. */
  readonly waiting: (() => void)[];
  /** Since when it is to answer, and has not (monotonic). */
  sinceMs: number;
  /** Held for silent until then (monotonic). */
  silentUntilMs: number;
}

/** The calls to hosts, so that those that do not answer do not hold up the others. */
export class HostCalls {
  readonly #parts: HostCallsParts;
  /** Of hosts with calls under way, and of those held for silent. */
  readonly #lines = new Map<string, Line>();

  constructor(parts: HostCallsParts) {
    this.#parts = parts;
  }

  /** Where first calls to the host wait for their turn. */
  to(host: string): Calls {
    return { add: (call) => this.#add(host, call) };
  }

  /** Did the host not answer what it was asked lately? */
  isSilent(host: string): boolean {
    const line = this.#lines.get(host);
    return line !== undefined && this.#isSilent(line);
  }

  #isSilent({ asked, sinceMs, silentUntilMs }: Line): boolean {
    const nowMs = this.#parts.clock.monotonicMs();
    return silentUntilMs > nowMs || (asked > 0 && nowMs - sinceMs >= SILENT_AFTER_MS);
  }

  async #add<T>(host: string, call: () => Promise<T>): Promise<T> {
    const line = this.#lineOf(host);
    line.calls += 1;
    try {
      return await this.#inTurn(line, call);
    } finally {
      line.calls -= 1;
      this.#leave(line);
    }
  }

  async #inTurn<T>(line: Line, call: () => Promise<T>): Promise<T> {
    while (line.entered >= HOST_MAX && !this.#isSilent(line))
      await new Promise<void>((resolve) => line.waiting.push(resolve));
    const timed = (): Promise<T> => this.#timed(line, call);
    if (this.#isSilent(line)) return await this.#parts.retries.add(timed);
    line.entered += 1;
    try {
      return await this.#parts.first.add(timed);
    } finally {
      line.entered -= 1;
    }
  }

  async #timed<T>(line: Line, call: () => Promise<T>): Promise<T> {
    const { clock } = this.#parts;
    const startedMs = clock.monotonicMs();
    if (line.asked === 0) line.sinceMs = startedMs;
    line.asked += 1;
    try {
      return await call();
    } finally {
      line.asked -= 1;
      const nowMs = clock.monotonicMs();
      const isLate = nowMs - startedMs >= SILENT_AFTER_MS;
      line.silentUntilMs = isLate ? nowMs + SILENT_FOR_MS : 0;
      if (!isLate) line.sinceMs = nowMs;
    }
  }

  #lineOf(host: string): Line {
    let line = this.#lines.get(host);
    if (line === undefined) {
      line = { host, calls: 0, entered: 0, asked: 0, waiting: [], sinceMs: 0, silentUntilMs: 0 };
      this.#lines.set(host, line);
    }
    return line;
  }

  /** A call to the host is over: whoever waits for it goes on, all of them to wait elsewhere if it is silent. */
  #leave(line: Line): void {
    const isSilent = this.#isSilent(line);
    for (const goOn of isSilent ? line.waiting.splice(0) : line.waiting.splice(0, 1)) goOn();
    if (line.calls > 0) return;
    // Also of those that were silent and have not been called since.
    if (isSilent) for (const one of this.#lines.values()) this.#dropIdle(one);
    else this.#dropIdle(line);
  }

  #dropIdle(line: Line): void {
    if (line.calls === 0 && !this.#isSilent(line)) this.#lines.delete(line.host);
  }
}
