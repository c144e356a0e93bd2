/** Whoever waits for one signal. */
const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `act` once when the signal is aborted. However many calls share a signal (the retries of one
 * session, the log streams that one Ctrl-C ends), the signal itself has one listener: Node takes more than ten for a leak, and looks at each of
 * them when one is removed.
 *
 * @param signal not aborted yet
 * @returns takes it back
 */
export function onAbort(signal: AbortSignal, act: () => void): () => void {
  let acts = waiting.get(signal);
  if (acts === undefined) {
    const all = new Set<() => void>();
    const tell = (): void => {
      waiting.delete(signal);
      for (const one of all) one();
    };
    signal.addEventListener('abort', tell, { once: true });
    waiting.set(signal, all);
    acts = all;
  }
  const own = acts;
  // A copy of its own: the same function may wait twice.
  const one = (): void => act();
  own.add(one);
  return () => {
    own.delete(one);
  };
}
