/**
 * A wait is there to end a test that waits in vain, not to judge a machine: many times what the slowest of them takes on two
 * quiet cores, and so short that the test can still say what it waited for.
 */
const LIMIT_MS = 90_000;
/** Who asks a file or a table of processes would otherwise leave nobody else a turn. */
const PAUSE_MS = 20;
const TOLD_MAX = 4_000;

export interface UntilOptions {
  /** For the message; without it the text of the condition. */
  readonly what?: string;
  readonly limitMs?: number;
}

/**
 * Asks again and again.
 * @returns the first answer that holds
 * @throws after `limitMs`, with what was waited for and the last answer
 */
export async function until<T>(
  ask: () => T | Promise<T>,
  holds: (found: T) => boolean,
  { what = String(holds), limitMs = LIMIT_MS }: UntilOptions = {},
): Promise<T> {
  const sinceMs = performance.now();
  for (;;) {
    const found = await ask();
    if (holds(found)) return found;
    if (performance.now() - sinceMs >= limitMs)
      throw new Error(
        `waited in vain for ${String(limitMs / 1000)} s: ${what}\nlast seen: ${textOf(found)}\nas asked by: ${String(ask)}`,
      );
    await new Promise((next) => setTimeout(next, PAUSE_MS));
  }
}

/** The end of it, where the newest is. */
function textOf(found: unknown): string {
  const text = typeof found === 'string' ? found : (JSON.stringify(found, null, 1) ?? String(found));
  return text.length <= TOLD_MAX ? text : `… ${text.slice(-TOLD_MAX)}`;
}
