import { readFileSync } from 'node:fs';

/** Linux has counted in hundredths for as long as there is `/proc`. */
const US_EACH_TICK = 10_000;

/** Processor time of a process since it started, user and system. */
export function processCpuUs({ pid }: { readonly pid: number }): number {
  const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
  const [, , , , , , , , , , , user, system] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(user) + Number(system)) * US_EACH_TICK;
}
