/**
 * Shapes at the edges: what this program reads from, and writes to, the store, disks and the network. The only place with
 * zod. Each room is used by the ones before it:
 *
 * - `openapi/`: the document that tells programs what a monitor's API takes.
 * - `plan/`: what would be decided if something changed.
 * - `workload/`: files of the simulator's workloads.
 * - `job-file/`: the job file of people, from text to canonical job and back.
 * - `join/`: how machines become hosts.
 * - `host-files/`: what lies in the state folder of a host.
 * - `access/`: people, and for whom a monitor asks, in the HTTP APIs.
 * - `api/`: bodies of the HTTP APIs.
 * - `records/`: what lies in the store.
 * - `verdicts/`: who is at fault, and what is done about it.
 * - `budgets/`: what the cell may do of its own accord.
 * - `values/`: amounts with units, names, texts, and their bounds. `codec/`: codecs from schemas.
 */

/** Between a value and the text that lies in the store or on disk. */
export interface Codec<T> {
  encode(value: T): string;
  /** @throws RecordError naming the record kind and the place in it */
  decode(text: string): T;
}

/** A stored record that this version cannot read. */
export class RecordError extends Error {
  override readonly name = 'RecordError';
  readonly kind: string;

  constructor(kind: string, message: string, cause?: unknown) {
    super(`${kind} record: ${message}`, { cause });
    this.kind = kind;
  }
}
