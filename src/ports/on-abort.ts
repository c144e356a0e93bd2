/** The callbacks that wait for each signal. */
const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `act` once when the signal is aborted. However many calls share a signal (the retries of a session, the streams that
 * one Ctrl-C ends), the signal has one listener: Node warns of a leak at more than ten, and walks all of them to remove one.
 *
 * @param signal not aborted yet
 * @returns cancels
 */
export function onAbort(signal: AbortSignal, act: () => void): () => void {
  let acts = waiting.get(signal);
  if (acts === undefined) {
    const all = new Set<() => void>();
    const callAll = (): void => {
      waiting.delete(signal);
      for (const one of all) one();
    };
    signal.addEventListener('abort', callAll, { once: true });
    waiting.set(signal, all);
    acts = all;
  }
  const own = acts;
  // A closure of its own: the same function may wait twice.
  const one = (): void => act();
  own.add(one);
  return () => {
    own.delete(one);
  };
}
