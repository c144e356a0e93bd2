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
