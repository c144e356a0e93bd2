/** More than this share of the hosts, gone within the window, points to a fault of this side, not of the hosts (I18). */
export const MASS_LOSS_FRACTION = 0.3;
export const MASS_LOSS_WINDOW_MS = 10_000;
/** In a cell of three hosts one is a third already; a single host is never a mass loss. */
export const MASS_LOSS_MIN = 2;

/**
 * Hosts that vanished together with too many other hosts to be believed.
 *
 * @param missing host to the time at which it vanished, of those that are missing now
 * @param total hosts that are known, the missing ones included
 */
export function suspectHosts(missing: ReadonlyMap<string, number>, total: number): ReadonlySet<string> {
  const ordered = [...missing].sort((a, b) => a[1] - b[1]);
  const suspects = new Set<string>();
  let from = 0;
  for (let to = 0; to < ordered.length; to++) {
    const end = ordered[to]?.[1] ?? 0;
    while (end - (ordered[from]?.[1] ?? 0) > MASS_LOSS_WINDOW_MS) from += 1;
    const together = to - from + 1;
    if (together < MASS_LOSS_MIN || together <= total * MASS_LOSS_FRACTION) continue;
    for (const [host] of ordered.slice(from, to + 1)) suspects.add(host);
  }
  return suspects;
}
