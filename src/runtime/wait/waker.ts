import { onAbort } from '../../ports/on-abort.ts';

/**
 * Any number of calls of `wake` wake the one loop that waits once. A wake that comes while the loop works is not lost: the
 * next `wait` returns at once.
 */
export class Waker {
  #woken = false;
  #waiting: (() => void) | null = null;

  wake(): void {
    this.#woken = true;
    this.#waiting?.();
  }

  /** Resolves at the next wake, or when the signal is aborted. One waiter at a time. */
  async wait(signal: AbortSignal): Promise<void> {
    if (!this.#woken && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const finish = (): void => {
          this.#waiting = null;
          forget();
          resolve();
        };
        this.#waiting = finish;
        const forget = onAbort(signal, finish);
      });
    }
    this.#woken = false;
  }
}
