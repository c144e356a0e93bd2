import type { Cgroups } from '../../src/ports/cgroups.ts';

/**
 * How much of the last seconds was lost to waiting for memory, in percent, as the kernel counts it (PSI). `some`: at least
 * one process of the machine waited. `full`: all that could have run did.
 */
export interface Pressure {
  readonly someAvg10: number;
  readonly someAvg60: number;
  readonly fullAvg10: number;
  readonly fullAvg60: number;
}

/** @returns null where the kernel does not count it */
export async function pressureOf(cgroups: Cgroups | undefined): Promise<Pressure | null> {
  return readPressure((await cgroups?.pressure()) ?? null);
}

/** The text of `/proc/pressure/memory`. @returns null when it says nothing that is understood */
export function readPressure(text: string | null): Pressure | null {
  const some = averagesOf(text, 'some');
  const full = averagesOf(text, 'full');
  if (some === null || full === null) return null;
  return { someAvg10: some[0], someAvg60: some[1], fullAvg10: full[0], fullAvg60: full[1] };
}

function averagesOf(text: string | null, kind: 'some' | 'full'): readonly [number, number] | null {
  const found = new RegExp(`^${kind} avg10=(\\d+\\.\\d+) avg60=(\\d+\\.\\d+) `, 'm').exec(text ?? '');
  return found === null ? null : [Number(found[1]), Number(found[2])];
}

/** A tenth of the time: far above what reading files costs, and early enough to choose who goes. */
const STALLED_PERCENT = 10;

/** Is so much time being lost that the last megabyte should not be waited for? */
export function isStalled(pressure: Pressure | null): boolean {
  return pressure !== null && pressure.fullAvg10 >= STALLED_PERCENT;
}

/** For the host's attributes: three words, so that they seldom change. By the minute, not by the moment. */
export function pressureAttributes(pressure: Pressure | null): Readonly<Record<string, string>> {
  if (pressure === null) return {};
  const { someAvg60, fullAvg60 } = pressure;
  const some = someAvg60 >= STALLED_PERCENT ? 'some' : 'low';
  return { [PRESSURE]: fullAvg60 >= STALLED_PERCENT ? 'full' : some };
}

/** Attribute: how the machine has memory, where its kernel says so. */
export const PRESSURE = 'memory.pressure';
