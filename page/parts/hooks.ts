import { createContext } from 'preact';
import { useContext, useEffect, useMemo, useState } from 'preact/hooks';
import type { Cell } from '../cell/cell.ts';
import type { Loaded } from '../cell/polled.ts';
import { Polled } from '../cell/polled.ts';
import type { Watchable } from '../cell/signal.ts';
import type { PageRoute } from '../figures/route.ts';
import { routeOf } from '../figures/route.ts';

export const CellContext = createContext<Cell | null>(null);

export function useCell(): Cell {
  const cell = useContext(CellContext);
  if (cell === null) throw new Error('a view of the cell stands outside of it');
  return cell;
}

export function useWatched<T>(watched: Watchable<T>): T {
  const [, redraw] = useState({});
  const { value } = watched;
  useEffect(() => {
    // It may have changed before it was followed.
    if (!Object.is(watched.value, value)) redraw({});
    return watched.follow(() => redraw({}));
  }, [watched]);
  return value;
}

/**
 * Loads again after `everyMs`, and when something happens in the cell.
 * @param what loads anew when it changes
 * @param isLive false: what happens is nothing to it
 */
export function usePolled<T>(
  what: string,
  everyMs: number,
  load: (signal: AbortSignal) => Promise<T>,
  isLive = true,
): Loaded<T> & { readonly now: () => void } {
  const { feed } = useCell();
  const polled = useMemo(() => new Polled(everyMs, load), [what]);
  useEffect(() => {
    const leave = isLive ? feed.pulse.follow(() => polled.poke()) : (): void => undefined;
    return () => {
      leave();
      polled.end();
    };
  }, [polled]);
  return { ...useWatched(polled.state), now: () => polled.now() };
}

export function useRoute(): PageRoute {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = (): void => setHash(location.hash);
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return useMemo(() => routeOf(hash), [hash]);
}

/** The time, for "so long ago". */
export function useNowMs(everyMs: number): number {
  const [nowMs, setNowMs] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return nowMs;
}
