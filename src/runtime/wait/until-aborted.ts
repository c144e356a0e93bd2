import { onAbort } from '../../ports/on-abort.ts';

/** Ends with the first of the signals; those that outlive the others keep no word of it. */
export function untilAborted(...signals: readonly AbortSignal[]): Promise<void> {
  if (signals.some((signal) => signal.aborted)) return Promise.resolve();
  return new Promise((resolve) => {
    const forgets = signals.map((signal) =>
      onAbort(signal, () => {
        for (const forget of forgets) forget();
        resolve();
      }),
    );
  });
}
