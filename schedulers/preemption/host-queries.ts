import type { AllocationReport } from '../../src/core/host/report.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import { LATE_MS } from '../calls/call-permits.ts';
import type { VictimReader } from './victim-reader.ts';

/** Hosts asked at once: that many members are the next to need one, and a large gang needs thousands. */
const AT_ONCE_MAX = 8;
/** Answers waited for that are late; others are asked when one has come, or will not. */
const LATE_MAX = 32;

const FAILED = 'a question to a host failed, and nobody waits for its answer';

export interface HostQuestionsParts {
  readonly clock: Clock;
  readonly log: Pick<Log, 'error'>;
  readonly victims: Pick<VictimReader, 'runningOn'>;
}

/** What the hosts asked in one search have to say, in the order in which they say it. */
export class HostQuestions {
  readonly #parts: HostQuestionsParts;
  /** Not answered; called with nothing more to do once the question is late. */
  readonly #open = new Map<string, Question>();
  #late = 0;
  #isOver = false;
  #wake: () => void = () => undefined;
  #failure: { readonly error: unknown } | null = null;

  constructor(parts: HostQuestionsParts) {
    this.#parts = parts;
  }

  /** How many more hosts may be asked now. */
  get room(): number {
    return this.#late >= LATE_MAX ? 0 : AT_ONCE_MAX - this.onTime;
  }

  /** Answers that are to come soon, as none of them is late. */
  get onTime(): number {
    return this.#open.size - this.#late;
  }

  /** Answers that are still to come. */
  get open(): number {
    return this.#open.size;
  }

  /** Is the host still to answer? */
  isAsked(host: string): boolean {
    return this.#open.has(host);
  }

  /** @param onAnswer what may give way there; null: it does not say. Not called any more once the search has ended */
  ask(host: string, onAnswer: (running: readonly AllocationReport[] | null) => void): void {
    const question: Question = { cancel: () => undefined, isLate: false };
    question.cancel = this.#parts.clock.after(LATE_MS, () => {
      question.isLate = true;
      this.#late += 1;
      this.#wake();
    });
    this.#open.set(host, question);
    const close = (): void => {
      question.cancel();
      if (this.#open.delete(host) && question.isLate) this.#late -= 1;
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
   * Waits until something has changed: an answer came, or is late. To be called only while there are some to come.
   * @param untilMs no longer than until then (monotonic)
   * @throws what a question failed with
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

  /** Nobody needs the answers any more. What a question failed with is told to people, as nobody waits for it. */
  end(): void {
    this.#isOver = true;
    if (this.#failure !== null) this.#parts.log.error(this.#failure, FAILED);
    this.#failure = null;
    for (const { cancel } of this.#open.values()) cancel();
    this.#wake();
  }
}

interface Question {
  cancel: () => void;
  isLate: boolean;
}

/**
 * The host found by the search; one that does not answer only as the last resort.
 * @param find a host of which `isPassed` does not hold
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
