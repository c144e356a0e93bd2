/**
 * The ports on a real machine, a room for each part of the world, and in memory. The only place with packages besides zod,
 * yaml and the command line's.
 *
 * - The cell: `etcd/` is the store; `store/` is what every store does alike.
 * - Other processes: `http/` (servers, clients, channels), `dns/` (answers), `pki/` (who they are), `tickets/` (signatures), `openid/` (tokens that others made).
 * - A host's machine: `processes/` (shims, tasks, control groups), `disk/` (the state folder); `file-thread/` changes both
 *   in a thread of its own.
 * - Every role: `system/` (time, randomness, fail points), `telemetry/` (logs, metrics, traces).
 * - `memory/`: the same ports without a machine.
 */

/** The system's name of an error, such as `ENOENT`; empty without one. */
export function errorCodeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}
