/**
 * The rules of the scheduler as pure functions and tables: no I/O, no packages, no clock, no async. Time and randomness
 * are arguments, so that processes and the simulator run the same code. From the records up to the decisions:
 *
 * - `access/`: who is at the other end of a connection, and what it may do
 * - `cell/`: the records of a cell and their keys: job, claim, allocation, intent
 * - `host/`: a host, its attributes, what it reports, and how reports are merged
 * - `quota/`: what bounds use beyond a single host: quotas, shared resources, tickets
 * - `fit/`: the fit rule and the ledger of a host
 * - `scoring/`: how good a fitting host is
 * - `cell-state/`: a scheduler's private copy of the cell, and its search tables
 * - `placement/`: which host a task gets, and why hosts refuse it
 * - `elastic/`: how far a job grows into idle capacity
 * - `preemption/`: on which host a task may take the place of others, and of which
 * - `commit/`: how a plan becomes transactions, and what is left of one that was refused
 * - `detector/`: who is at fault when much fails at once
 * - `names/`: who serves the name of a port
 * - `slots/`: what should change for a job: fills, stops, releases
 * - `trace/`: what follows a job over all roles: its trace context, spans, fields of logs
 * - `json/`, `errors/`, `random/`: strict and canonical JSON; what was thrown, in words; seeded random numbers
 *
 * This file is the identity of a cell, which every process reads first.
 */

/** The layout of the store that this version reads and writes. Another number is refused. */
export const SCHEMA_VERSION = 1;

/** Written once, by the process that starts the cell first. */
export interface CellMeta {
  readonly schema: number;
  /** Changes when the store is restored from a snapshot: the first half of every fencing epoch. */
  readonly incarnation: string;
  readonly createdAtMs: number;
  /**
   * When the store was last restored from a snapshot, or recreated after it was lost. From then on hosts may run allocations
   * that the store does not record, and are queried before anything is placed.
   */
  readonly restoredAtMs?: number;
}
