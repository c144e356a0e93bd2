import { onAbort } from '../../src/ports/on-abort.ts';

/** Wakes requests that wait for a change of one job: a long poll, a log relay before the start. */
export class JobChanges {
  readonly #waiting = new Map<string, Set<() => void>>();

  wake(jobKey: string): void {
    const waiting = this.#waiting.get(jobKey);
    if (waiting === undefined) return;
    this.#waiting.delete(jobKey);
    for (const resolve of waiting) resolve();
  }

  /**
   * Resolves at the next change of the job, or when the signal is aborted. Read the job after the call and before awaiting,
   * and no change is missed.
   */
  next(jobKey: string, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      let waiting = this.#waiting.get(jobKey);
      if (waiting === undefined) this.#waiting.set(jobKey, (waiting = new Set()));
      const all = waiting;
      const finish = (): void => {
        all.delete(finish);
        if (all.size === 0 && this.#waiting.get(jobKey) === all) this.#waiting.delete(jobKey);
        forget();
        resolve();
      };
      all.add(finish);
      const forget = onAbort(signal, finish);
    });
  }
}
