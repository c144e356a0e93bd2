import type { AllocationReport } from '../../src/core/host/report.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import { LATE_MS } from '../calls/call-permits.ts';
import type { VictimReader } from './victim-reader.ts';

/** Hosts asked at once: so many members need one next, and a large gang needs thousands. */
const AT_ONCE_MAX = 8;
/** Late answers that are still awaited; no more hosts are asked before one of them came or timed out. */
const LATE_MAX = 32;

const FAILED = 'a query to a host failed after its search had ended';

export interface HostQueriesParts {
  readonly clock: Clock;
  readonly log: Pick<Log, 'error'>;
  readonly victims: Pick<VictimReader, 'runningOn'>;
}

/**
 * The hosts' answers in one search for victims, in the order in which they come. A query is late after `LATE_MS`: it stays
 * open, and others are sent beside it.
 */
export class HostQueries {
  readonly #parts: HostQueriesParts;
  /** Queries without an answer yet. */
  readonly #open = new Map<string, Query>();
  #late = 0;
  #isOver = false;
  #wake: () => void = () => undefined;
  #failure: { readonly error: unknown } | null = null;

  constructor(parts: HostQueriesParts) {
    this.#parts = parts;
  }

  get free(): number {
    return this.#late >= LATE_MAX ? 0 : AT_ONCE_MAX - this.onTime;
  }

  /** Queries that are open and not late. */
  get onTime(): number {
    return this.#open.size - this.#late;
  }

  get open(): number {
    return this.#open.size;
  }

  isAsked(host: string): boolean {
    return this.#open.has(host);
  }

  /** @param onAnswer gets what runs there; null: the host did not say. Not called after the search has ended */
  ask(host: string, onAnswer: (running: readonly AllocationReport[] | null) => void): void {
    const query: Query = { cancel: () => undefined, isLate: false };
    query.cancel = this.#parts.clock.after(LATE_MS, () => {
      query.isLate = true;
      this.#late += 1;
      this.#wake();
    });
    this.#open.set(host, query);
    const close = (): void => {
      query.cancel();
      if (this.#open.delete(host) && query.isLate) this.#late -= 1;
    };
    const answered = (running: readonly AllocationReport[] | null): void => {
      close();
      if (!this.#isOver) onAnswer(running);
      this.#wake();
    };
    const failed = (error: unknown): void => {
      close();
      if (this.#isOver) this.#parts.log.error({ error }, FAILED);
      else this.#failure ??= { error };
      this.#wake();
    };
    this.#parts.victims
      .runningOn(host, () => !this.#isOver)
      .then(answered)
      .catch(failed);
  }

  /**
   * Waits until an answer came or is late. To be called only while queries are open.
   * @param untilMs at most until then (monotonic)
   * @throws what a query failed with
   */
  async next(untilMs: number): Promise<void> {
    const { clock } = this.#parts;
    await new Promise<void>((resolve) => {
      const cancel = clock.after(Math.max(0, untilMs - clock.monotonicMs()), resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
      if (this.#failure !== null) this.#wake();
    });
    this.#wake = () => undefined;
    const failure = this.#failure;
    this.#failure = null;
    if (failure !== null) throw failure.error;
  }

  /** The search has ended. Failures of queries that are still open are logged. */
  end(): void {
    this.#isOver = true;
    if (this.#failure !== null) this.#parts.log.error(this.#failure, FAILED);
    this.#failure = null;
    for (const { cancel } of this.#open.values()) cancel();
    this.#wake();
  }
}

interface Query {
  cancel: () => void;
  isLate: boolean;
}

/**
 * The host that `find` returns; a silent one only as the last resort.
 * @param find returns a host for which `isPassed` is false
 */
export function silentLast(
  isSilent: (host: string) => boolean,
  isLastResort: boolean,
  find: (isPassed: (host: string) => boolean) => string | undefined,
): string | undefined {
  let anySilent = false;
  const host = find((one) => isSilent(one) && (anySilent = true));
  return host === undefined && anySilent && isLastResort ? find(() => false) : host;
}
