import type { Chance } from './chance.ts';
import type { PortRange } from './host.ts';

export const NO_PORTS: Readonly<Record<string, number>> = Object.freeze({});

/** Is the port given away on the host? */
export interface PortsUsed {
  has(port: number): boolean;
}

/**
 * A number for every label, or the first label that finds none. Fixed numbers go first, then the free choice starts at
 * a random place of the range, so that schedulers that compete for one host seldom take the same port.
 */
export function choosePorts(
  asked: Readonly<Record<string, number>>,
  range: PortRange,
  used: PortsUsed,
  chance: Chance,
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
    const port = freePort(range, used, taken, chance);
    if (port === null) return { missing: label };
    taken.add(port);
    ports[label] = port;
  }
  return { ports };
}

function freePort(range: PortRange, used: PortsUsed, taken: PortsUsed, chance: Chance): number | null {
  const size = range.last - range.first + 1;
  if (size <= 0) return null;
  const start = chance.below(size);
  for (let step = 0; step < size; step++) {
    const port = range.first + ((start + step) % size);
    if (!used.has(port) && !taken.has(port)) return port;
  }
  return null;
}
