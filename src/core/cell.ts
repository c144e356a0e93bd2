/** The layout of the store that this version reads and writes. Another number is refused. */
export const SCHEMA_VERSION = 1;

/** Written once by whoever starts the cell first. */
export interface CellMeta {
  readonly schema: number;
  /** Changes when the store is restored from a snapshot: the first half of every fencing epoch. */
  readonly incarnation: string;
  readonly createdAtMs: number;
}
