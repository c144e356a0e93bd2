import { constants } from 'node:os';

/** First of the real-time signals as programs see it: the C library keeps two of the kernel's for itself. */
const SIGRTMIN = 34;
const SIGRTMAX = 64;

/** `SIGTERM`, `SIGRTMIN+3`. @throws when this system has no such signal */
export function signalNumber(name: string): number {
  const plain = constants.signals[name as NodeJS.Signals];
  if (plain !== undefined) return plain;
  const above = /^SIGRTMIN(?:\+([0-9]{1,2}))?$/.exec(name);
  const number = above === null ? 0 : SIGRTMIN + Number(above[1] ?? 0);
  if (number < SIGRTMIN || number > SIGRTMAX) throw new Error(`this system has no signal ${name}`);
  return number;
}
