import { HttpError } from '../../src/ports/http.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { Context } from '../command/context.ts';
import { CliError, EXIT } from '../command/exit.ts';

/** Longer than a store takes to start again or to elect a leader; then somebody must look at it. */
const AWAY_MAX_MS = 30_000;
const RETRY_MS = 300;

/** A monitor's words for a store that may be back soon. */
const AWAY: ReadonlySet<string> = new Set(['store-unavailable', 'store-timeout', 'outcome-unknown']);

/**
 * Submits, and does so again while the store is away or the answer was lost, and says that it does.
 *
 * @param submit changes nothing when it is done a second time
 * @throws CliError when the store was away for too long; what `submit` throws for any other reason, or once it is interrupted
 */
export async function whileStoreAway<T>(
  { terminal, interrupted }: Context,
  submit: () => Promise<T>,
): Promise<T> {
  const sinceMs = terminal.nowMs();
  for (let isTold = false; ; isTold = true) {
    try {
      return await submit();
    } catch (error) {
      if (!isAway(error) || interrupted.aborted) throw error;
      if (terminal.nowMs() - sinceMs >= AWAY_MAX_MS) throw gaveUp(error);
      if (!isTold)
        terminal.err(`moorage: ${error.message}; trying again for ${String(AWAY_MAX_MS / 1000)} s\n`);
    }
    await terminal.sleep(RETRY_MS, interrupted);
  }
}

/** Where no monitor was reached at all, nothing tells that there is a cell. */
function isAway(error: unknown): error is Error {
  return error instanceof ProblemError
    ? AWAY.has(error.problem.code)
    : error instanceof HttpError && error.sent;
}

function gaveUp(error: Error): CliError {
  return new CliError(
    EXIT.unreachable,
    `still not submitted after ${String(AWAY_MAX_MS / 1000)} s, as far as is known: ${error.message}`,
    'moorage ps   (whether it is there; then: is etcd up?)',
    error,
  );
}
