import { setFlagsFromString } from 'node:v8';
import type { Context } from '../command/context.ts';
import { CliError, EXIT, failedStop } from '../command/exit.ts';
import { faultOf } from './faults.ts';
import type { RoleBasics } from './options.ts';
import { probeStore } from './probe-store.ts';
import type { Terminal } from '../command/terminal.ts';
import { onParentGone } from '../command/parent-gone.ts';

/** What each role's `main.ts` gives back. */
export interface RunningRole {
  readonly address: string;
  stop(): Promise<void>;
  readonly ended: Promise<void>;
}

/** How a role comes up, when its flags were read. */
export interface RoleStart {
  /** Reads the files that the flags name, before anything is connected. */
  readonly check?: () => Promise<unknown>;
  /** Default true; false: it starts while the store is away too. */
  readonly needsStore?: boolean;
  readonly start: () => Promise<RunningRole>;
}

/** How long a role that is stopped during its start may take to come up, so that it can undo what it began. */
const START_MAX_MS = 1_000;

/** A role that has not stopped by then is left as it is: its leases expire. */
const STOP_MAX_MS = 10_000;

/**
 * How much of other functions the optimizing compiler takes into one, in bytes of code; 920 without this. Roles are wide and
 * flat: with less the compiler takes half the time, and in a scheduler's first ten thousand jobs it takes a third of all.
 */
const INLINED_BYTES_MAX = 400;

/**
 * Starts a role, prints its ready line, and keeps it until SIGTERM or Ctrl-C, or until it ends by itself.
 *
 * The ready line is one JSON object on standard output, for the process that started this one. With `MOORAGE_STOP_WITH_PARENT`
 * in the environment the role also stops when its standard input closes, so that it cannot outlive a parent that was killed.
 * Both hold from the first moment: a start that waits, say for the store, is abandoned with exit code 0 after `START_MAX_MS`.
 */
export async function serveRole(
  context: Context,
  basics: RoleBasics,
  { check, needsStore = true, start }: RoleStart,
): Promise<number> {
  const { terminal, interrupted } = context;
  context.endInOrder();
  const leave = interrupted.aborted ? Promise.resolve() : stopOrder(context);
  const { id } = basics;
  const role = await started(terminal, leave, async () => {
    await check?.();
    await probeStore(terminal, basics, needsStore);
    return start();
  });
  if (role === null) return EXIT.ok;
  // After its parts are loaded: V8 takes a part from the code cache only with the flags that made it.
  setFlagsFromString(`--max-inlined-bytecode-size-cumulative=${String(INLINED_BYTES_MAX)}`);
  terminal.out(`${JSON.stringify({ ready: true, id, address: role.address })}\n`);
  const first = await Promise.race([
    leave.then(() => ({ by: 'order' }) as const),
    role.ended.then(
      () => ({ by: 'itself', error: null }) as const,
      (error: unknown) => ({ by: 'itself', error }) as const,
    ),
  ]);
  const late = await Promise.race([
    role.stop().then(() => false),
    terminal.sleep(STOP_MAX_MS).then(() => true),
  ]);
  if (late)
    terminal.err(`moorage: ${id} did not stop within ${String(STOP_MAX_MS / 1000)} s; left as it is\n`);
  if (first.by === 'order') return late ? EXIT.workloadFailed : EXIT.ok;
  if (first.error !== null) throw faultOf(first.error);
  throw new CliError(EXIT.workloadFailed, `${id} ended by itself`, 'its last log lines say why');
}

function stopOrder({ terminal, interrupted }: Context): Promise<void> {
  return new Promise((resolve) => {
    interrupted.addEventListener('abort', () => resolve(), { once: true });
    onParentGone(terminal.env, resolve);
  });
}

/**
 * @returns null: the order to leave came first, and `start` has not done by `START_MAX_MS` after it
 * @throws CliError that says what keeps it from starting; after the order, with the status of a role that failed
 */
export async function started(
  terminal: Terminal,
  leave: Promise<void>,
  start: () => Promise<RunningRole>,
): Promise<RunningRole | null> {
  const starting = start().catch((error: unknown) => {
    throw faultOf(error);
  });
  const left = leave.then(() => null);
  const first = await Promise.race([starting, left]);
  if (first !== null) return first;
  const deadline = terminal.sleep(START_MAX_MS).then(() => null);
  // The start does not know of the order: an error in it is no consequence of the order.
  return Promise.race([starting.catch((error: CliError) => Promise.reject(failedStop(error))), deadline]);
}
