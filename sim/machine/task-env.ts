import type { ShimLaunch } from '../../src/wire/host-files/attempt-files.ts';

/**
 * What a simulated task does stands in its environment: `SIM_RUN_MS` (0 or absent: it runs until it is stopped), `SIM_EXIT_CODE`,
 * `SIM_IGNORES_SIGNALS` (only SIGKILL ends it), `SIM_LINGER_MS` (its ports and addresses stay bound so long after its end) and
 * `SIM_OUTPUT_EVERY_MS` (it writes a line about that often, and one as it ends).
 */

/** A port or an address that a task binds from its start to its end. */
export interface Place {
  readonly what: 'port' | 'address';
  readonly name: string;
}

/** A command that cannot be executed. */
export const MISSING_COMMAND = 'no-such-command';

export function runMsOf({ env }: ShimLaunch): number {
  return Number(env['SIM_RUN_MS'] ?? 0);
}

export function ignoresSignals({ env }: ShimLaunch): boolean {
  return env['SIM_IGNORES_SIGNALS'] !== undefined;
}

/** How long a task's ports and addresses stay bound after its end. */
export function lingerMsOf(env: Readonly<Record<string, string>>): number {
  return Number(env['SIM_LINGER_MS'] ?? 0);
}

/** The devices that a task finds in its environment. */
export function gpusOf({ env }: ShimLaunch): { readonly gpus?: readonly number[] } {
  const gpus = env['MOORAGE_GPUS'];
  return gpus === undefined ? {} : { gpus: gpus.split(',').map(Number) };
}

/** How often a task writes a line to its stdout, about; 0: never. */
export function outputEveryMsOf(env: Readonly<Record<string, string>>): number {
  return Number(env['SIM_OUTPUT_EVERY_MS'] ?? 0);
}

/** The ports and addresses that the agent gives a task in its environment. */
export function placesOf({ env }: ShimLaunch): readonly Place[] {
  const ports = Object.entries(env).filter(([name]) => name.startsWith('MOORAGE_PORT_'));
  const addresses = env['MOORAGE_ADDRESSES']?.split(',') ?? [];
  return [
    ...ports.map(([, name]): Place => ({ what: 'port', name })),
    ...addresses.map((name): Place => ({ what: 'address', name })),
  ];
}
