import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { Task } from '../../src/core/cell/job.ts';
import type { ShimLaunch } from '../../src/wire/host-files/attempt-files.ts';
import { STATE_MARK } from '../../src/wire/host-files/shim-launch.ts';
import { oomScoreOf } from './qos.ts';

export interface LogBounds {
  /** Size of one file of output. */
  readonly segmentBytes: number;
  /** Files kept for each stream of an attempt; older ones are given up. */
  readonly segmentsMax: number;
}

export interface LaunchPlace {
  readonly attempt: string;
  readonly stateId: string;
  readonly cwd: string;
  readonly outBase: number;
  readonly errBase: number;
  readonly bounds: LogBounds;
  /** What every task of this host gets: `PATH` above all. */
  readonly hostEnv: Readonly<Record<string, string>>;
  /** Of the host's addresses, lent to its allocation. */
  readonly addresses: readonly string[];
  /** The agent's own, as in `TaskSettings`. */
  readonly oomScore: number;
  /** What the shim keeps by itself. */
  readonly deadlines: Pick<ShimLaunch, 'runMaxMs' | 'stopAfterDisconnectMs'>;
}

/**
 * The words that a command or an environment may hold, with their values. Only these are replaced: `${HOME}` in a shell
 * command is the shell's.
 */
export function wordsOf(allocation: Allocation, [address]: readonly string[]): ReadonlyMap<string, string> {
  const words = new Map([
    ['alloc.id', allocation.id],
    ['alloc.index', String(allocation.index)],
    ['alloc.attempt', String(allocation.attempt)],
    ['host.id', allocation.host],
    ['job.name', allocation.job],
    ['group.name', allocation.group],
  ]);
  if (address !== undefined) words.set('alloc.address', address);
  for (const [label, port] of Object.entries(allocation.ports)) words.set(`port.${label}`, String(port));
  return words;
}

export function interpolate(text: string, words: ReadonlyMap<string, string>): string {
  return text.replace(/\$\{([a-z]+\.[a-z0-9-]+)(?:\+(\d{1,9}))?\}/g, (whole, word: string, more?: string) => {
    const value = words.get(word);
    if (value === undefined || more === undefined) return value ?? whole;
    return /^\d+$/.test(value) ? String(Number(value) + Number(more)) : whole;
  });
}

/** Until an attached client says how large its own is. */
const TERMINAL_SIZE = { rows: 24, columns: 80 };

/** The order to the shim for one attempt at a task. */
export function launchOf(allocation: Allocation, task: Task, place: LaunchPlace): ShimLaunch {
  const words = wordsOf(allocation, place.addresses);
  const own = Object.entries(task.env).map(([name, value]) => [name, interpolate(value, words)] as const);
  const oomScoreAdj = oomScoreOf(allocation.precedence, place.oomScore);
  return {
    ...(oomScoreAdj === undefined ? {} : { oomScoreAdj }),
    cwd: place.cwd,
    outBase: place.outBase,
    errBase: place.errBase,
    segmentBytes: place.bounds.segmentBytes,
    segmentsMax: place.bounds.segmentsMax,
    ...place.deadlines,
    ...(Object.keys(place.deadlines).length === 0 ? {} : { stop: task.stop }),
    ...(task.stdin === true ? { stdin: 'open' as const } : {}),
    ...(task.terminal === true ? { pty: TERMINAL_SIZE } : {}),
    command: task.command.map((part) => interpolate(part, words)),
    env: {
      HOME: place.cwd,
      ...place.hostEnv,
      ...Object.fromEntries(own),
      ...moorageEnv(allocation, task, place),
    },
  };
}

/** Ours come last: a task must be able to trust them, and `MOORAGE_ATTEMPT` finds its processes. */
function moorageEnv(
  allocation: Allocation,
  { gpu }: Task,
  { attempt, stateId, addresses }: LaunchPlace,
): Record<string, string> {
  const env: Record<string, string> = {
    MOORAGE_ALLOC_ID: allocation.id,
    MOORAGE_NAMESPACE: allocation.namespace,
    MOORAGE_JOB: allocation.job,
    MOORAGE_GROUP: allocation.group,
    MOORAGE_HOST: allocation.host,
    MOORAGE_ATTEMPT: attempt,
    [STATE_MARK]: stateId,
    ALLOC_INDEX: String(allocation.index),
  };
  for (const [label, port] of Object.entries(allocation.ports))
    env[`MOORAGE_PORT_${label.toUpperCase().replaceAll('-', '_')}`] = String(port);
  if (gpu !== null) env['MOORAGE_GPUS'] = allocation.gpus.map(({ device }) => String(device)).join(',');
  const [first] = addresses;
  if (first !== undefined) {
    env['MOORAGE_ADDRESS'] = first;
    env['MOORAGE_ADDRESSES'] = addresses.join(',');
  }
  return env;
}
