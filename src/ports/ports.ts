/**
 * The interfaces to the world: all that roles can do beyond computing. The adapters implement them on a machine, the
 * simulator in virtual time.
 *
 * - Every role: `clock.ts`, `random.ts`, `telemetry.ts` (logs, metrics, traces), `metric-names.ts` (what each metric means),
 *   `crypto.ts` (digests, tickets, delegations); `openid.ts`: tokens that others made.
 * - The cell: `cell-store.ts`, and `store-upkeep.ts` for its size.
 * - Other processes: `http.ts` (calls, streams, channels, routes); `on-abort.ts` waits for a signal; `page.ts`: files for browsers.
 * - A host's machine: `disk.ts`, `process.ts`, `cgroups.ts`, `commands.ts`, `artifacts.ts`, `probes.ts`,
 *   `names.ts`, `dns.ts` (answers).
 */

/** An operating fault of a port. `retryable`: the same call may succeed later. */
export abstract class PortError<Code extends string> extends Error {
  readonly code: Code;
  readonly retryable: boolean;

  constructor(code: Code, message: string, options: { retryable: boolean; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable;
  }
}
