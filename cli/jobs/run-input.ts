import { systemClock, systemRandom } from '../../src/adapters/system/system.ts';
import { AttachSession } from '../../src/clients/attach-session.ts';
import type { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { JobRef } from '../../src/clients/monitor-paths.ts';
import { HttpError } from '../../src/ports/http.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { Context } from '../command/context.ts';
import { noInput, rawTerminal, readInput } from '../tasks/own-input.ts';

export interface RunInputOptions {
  /** Standard input is passed on. Without it only the size of the window is. */
  readonly stdin: boolean;
  /** The command has a terminal. */
  readonly terminal: boolean;
  /** Aborted when the run has ended. */
  readonly signal: AbortSignal;
}

/** A run is placed within milliseconds, or waits for long. */
const LOOK_FIRST_MS = 20;
const LOOK_MAX_MS = 500;
const RETRY_MS = 250;

/**
 * Passes standard input on to a one-off run, once that is placed, until it has ended. What has been read here is kept until the
 * host has it, and sent again after a cut. A run that was evicted and placed again can be given its input only while none was
 * read: the rest would begin in the middle.
 *
 * @returns false when a run was placed again and its input had begun: its command cannot be given what it needs
 */
export async function passInput(
  context: Context,
  api: MonitorClient,
  name: JobRef,
  options: RunInputOptions,
): Promise<boolean> {
  const { signal } = options;
  const seen = new Set<string>();
  const channels = await context.channels();
  let hasBegun = false;
  while (!signal.aborted) {
    const allocation = await nextAllocation(context, api, name, seen, signal);
    if (allocation === null) return true;
    if (hasBegun) return false;
    seen.add(allocation);
    const session = new AttachSession(
      { allocation },
      {
        channels,
        ...{ clock: systemClock, random: systemRandom, onOutput: null },
        addresses: () => api.addresses,
        input: options.stdin ? 'free' : 'none',
      },
    );
    const restore = options.terminal ? rawTerminal(session) : () => undefined;
    const stopInput = options.stdin ? readInput(session, () => (hasBegun = true)) : noInput(session);
    try {
      await untilEnd(context, session, signal);
    } finally {
      stopInput();
      restore();
    }
  }
  return true;
}

/** @returns null when the run ended first */
async function nextAllocation(
  { terminal }: Context,
  api: MonitorClient,
  name: JobRef,
  seen: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<string | null> {
  for (let waitMs = LOOK_FIRST_MS; !signal.aborted; waitMs = Math.min(LOOK_MAX_MS, waitMs * 2)) {
    // While no monitor answers, whoever waits for the end of the run decides how long that may last.
    const listed = await api.allocations(name, { signal }).catch(() => null);
    const found = listed?.allocations.find(
      ({ allocation, report }) => report !== null && !seen.has(allocation.id),
    );
    if (found !== undefined) return found.allocation.id;
    await terminal.sleep(waitMs, signal);
  }
  return null;
}

/** The session keeps what it has; a monitor that was just started may not know the allocation yet. */
async function untilEnd({ terminal }: Context, session: AttachSession, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await session.run(signal);
      return;
    } catch (error) {
      if (!(error instanceof HttpError || error instanceof ProblemError)) throw error;
    }
    await terminal.sleep(RETRY_MS, signal);
  }
}
