import type { AllocationReport } from '../src/core/report.ts';
import type { Clock } from '../src/ports/clock.ts';
import type { VictimReader } from './victim-reader.ts';

/** Hosts asked at once: that many members are the next to need one, and a large gang needs thousands. */
const AT_ONCE_MAX = 8;
/** Hosts answer within milliseconds: one that takes longer does not hold up the others, though its answer still counts. */
const LATE_MS = 200;
/** Answers waited for that are late; others are asked when one has come, or will not. */
const LATE_MAX = 32;

export interface HostQuestionsParts {
  readonly clock: Clock;
  readonly victims: Pick<VictimReader, 'runningOn'>;
}

/** What the hosts asked in one search have to say, in the order in which they say it. */
export class HostQuestions {
  readonly #parts: HostQuestionsParts;
  /** Not answered; called with nothing more to do once the question is late. */
  readonly #open = new Map<string, { cancel: () => void; isLate: boolean }>();
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
    const question = { cancel: () => undefined as void, isLate: false };
    question.cancel = this.#parts.clock.after(LATE_MS, () => {
      question.isLate = true;
      this.#late += 1;
      this.#wake();
    });
    this.#open.set(host, question);
    const answered = (running: readonly AllocationReport[] | null): void => {
      question.cancel();
      this.#open.delete(host);
      if (question.isLate) this.#late -= 1;
      if (!this.#isOver) onAnswer(running);
      this.#wake();
    };
    this.#parts.victims
      .runningOn(host, () => !this.#isOver)
      .then(answered)
      .catch((error: unknown) => {
        this.#failure = { error };
        this.#wake();
      });
  }

  /**
   * Waits until something has changed: an answer came, or is late. To be called only while there are some to come.
   * @param untilMs no longer than until then (monotonic)
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
    if (this.#failure !== null) throw this.#failure.error;
  }

  /** Nobody needs the answers any more. */
  end(): void {
    this.#isOver = true;
    for (const { cancel } of this.#open.values()) cancel();
    this.#wake();
  }
}
