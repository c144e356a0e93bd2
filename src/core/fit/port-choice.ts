import type { Chance } from '../random/chance.ts';
import type { PortRange } from '../host/host.ts';

export const NO_PORTS: Readonly<Record<string, number>> = Object.freeze({});

/** Is the port given away on the host? */
export interface PortsUsed {
  has(port: number): boolean;
}

/**
 * A port for every label, or the first label without one. Fixed ports first; the others are searched from a random place
 * of the range, so that schedulers that compete for one host seldom choose the same port.
 * @param freed ports in use a while ago, least recently freed first: chosen in that order when nothing else is free
 */
export function choosePorts(
  asked: Readonly<Record<string, number>>,
  range: PortRange,
  used: PortsUsed,
  chance: Chance,
  freed: readonly number[] = NONE_FREED,
): { readonly ports: Readonly<Record<string, number>> } | { readonly missing: string } {
  const labels = Object.keys(asked);
  if (labels.length === 0) return { ports: NO_PORTS };
  const taken = new Set<number>();
  const ports: Record<string, number> = {};
  for (const label of labels) {
    const port = asked[label] ?? 0;
    if (port === 0) continue;
    if (port < range.first || port > range.last || used.has(port) || taken.has(port))
      return { missing: label };
    taken.add(port);
    ports[label] = port;
  }
  for (const label of labels) {
    if (asked[label] !== 0) continue;
    const port = freePort(range, used, taken, chance, freed);
    if (port === null) return { missing: label };
    taken.add(port);
    ports[label] = port;
  }
  return { ports };
}

const NONE_FREED: readonly number[] = [];

function freePort(
  range: PortRange,
  used: PortsUsed,
  taken: PortsUsed,
  chance: Chance,
  freed: readonly number[],
): number | null {
  const size = range.last - range.first + 1;
  if (size <= 0) return null;
  const start = chance.below(size);
  for (let step = 0; step < size; step++) {
    const port = range.first + ((start + step) % size);
    if (!used.has(port) && !taken.has(port) && !freed.includes(port)) return port;
  }
  const isInRange = (port: number): boolean => port >= range.first && port <= range.last;
  return freed.find((port) => isInRange(port) && !used.has(port) && !taken.has(port)) ?? null;
}
