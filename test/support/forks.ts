import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Counts what the kernel starts. It numbers the processes and threads of a pid namespace one after the other, however short they
 * live, so that in a namespace of an agent's own the last number tells how many the agent and all that it started have begun.
 */

/** Runs a command as the first process of a pid namespace, which ends with it. */
export const IN_OWN_PIDS = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child'] as const;

/** @param outer the process of `unshare` @returns the first one in the namespace, by its number outside */
export function firstInside(outer: number): number {
  const [pid] = readFileSync(`/proc/${String(outer)}/task/${String(outer)}/children`, 'utf8').split(' ');
  return Number(pid);
}

/** @param inside a process of the namespace @returns how many began in it so far, each asking among them */
export function begunSoFar(inside: number): number {
  const args = ['--target', String(inside), '--pid', 'cat', '/proc/sys/kernel/ns_last_pid'];
  return Number(execFileSync('nsenter', args, { encoding: 'utf8' }));
}
