import type { Clock } from '../../ports/clock.ts';
import type { Log, LogFields } from '../../ports/telemetry.ts';

/** How often an outage that goes on is told again: once is enough to be found, and a line a try would bury the rest. */
const REMIND_MS = 30_000;

/**
 * Tells of something that fails again and again, mostly a peer that is away: one line when it begins, one every half a minute
 * while it lasts, one when it is over. Each says since when; the first ones say when it is tried again.
 */
export class Outage {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #what: string;
  #since: { readonly wallMs: number; readonly atMs: number } | null = null;
  #toldAtMs = 0;
  #tries = 0;

  /** @param what does not work, as the message: `cannot register` */
  constructor({ clock, log }: { readonly clock: Clock; readonly log: Log }, what: string) {
    this.#clock = clock;
    this.#log = log;
    this.#what = what;
  }

  /** It failed, and is tried again after `retryMs`. */
  failed(error: unknown, retryMs: number): void {
    const atMs = this.#clock.monotonicMs();
    this.#since ??= { wallMs: this.#clock.nowMs(), atMs };
    this.#tries += 1;
    if (this.#tries > 1 && atMs - this.#toldAtMs < REMIND_MS) return;
    this.#toldAtMs = atMs;
    const nextTry = timeText(this.#clock.nowMs() + retryMs);
    this.#log.warn({ ...this.#fields(), nextTry, error }, this.#what);
  }

  /** It worked. */
  over(): void {
    if (this.#since === null) return;
    const forMs = Math.round(this.#clock.monotonicMs() - this.#since.atMs);
    this.#log.info({ ...this.#fields(), forMs }, `over: ${this.#what}`);
    this.#since = null;
    this.#tries = 0;
  }

  #fields(): LogFields {
    return { since: timeText(this.#since?.wallMs ?? 0), tries: this.#tries };
  }
}

function timeText(wallMs: number): string {
  return new Date(wallMs).toISOString();
}
