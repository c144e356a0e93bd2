import { setFlagsFromString } from 'node:v8';
import type { Context } from '../context.ts';
import { CliError, EXIT } from '../exit.ts';
import { faultOf } from './faults.ts';
import type { RoleBasics } from './options.ts';
import { probeStore } from './probe-store.ts';

/** What each role's `main.ts` gives back. */
export interface RunningRole {
  readonly address: string;
  stop(): Promise<void>;
  readonly ended: Promise<void>;
}

/** A role that has not stopped by then is left behind: what it holds runs out by itself. */
const STOP_MAX_MS = 10_000;

/**
 * How much of other functions the optimizing compiler takes into one, in bytes of code; 920 without this. Roles are wide and
 * flat: with less the compiler takes half the time, and in a scheduler's first ten thousand jobs it takes a third of all.
 */
const INLINED_BYTES_MAX = 400;

/**
 * Starts a role, prints its ready line, and keeps it until SIGTERM or Ctrl-C, or until it ends by itself.
 *
 * @param needsStore false: it starts while the store is away too
 *
 * The ready line is one JSON object on standard output: whoever started the process waits for it. With
 * `MOORAGE_STOP_WITH_PARENT` in the environment the role also stops when its standard input closes, so that it cannot
 * outlive a parent that was killed.
 */
export async function serveRole(
  context: Context,
  basics: RoleBasics,
  needsStore: boolean,
  start: () => Promise<RunningRole>,
): Promise<number> {
  const { terminal, interrupted } = context;
  setFlagsFromString(`--max-inlined-bytecode-size-cumulative=${String(INLINED_BYTES_MAX)}`);
  context.endInOrder();
  const leave = interrupted.aborted ? Promise.resolve() : leaving(context);
  let role: RunningRole;
  const { id } = basics;
  try {
    await probeStore(terminal, basics, needsStore);
    role = await start();
  } catch (error) {
    throw faultOf(error);
  }
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

function leaving({ terminal, interrupted }: Context): Promise<void> {
  return new Promise((resolve) => {
    interrupted.addEventListener('abort', () => resolve(), { once: true });
    if (terminal.env.MOORAGE_STOP_WITH_PARENT === undefined) return;
    process.stdin.on('end', () => resolve());
    process.stdin.on('close', () => resolve());
    process.stdin.on('error', () => resolve());
    process.stdin.resume();
  });
}
