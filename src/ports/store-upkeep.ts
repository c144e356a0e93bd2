/**
 * What keeps the database of a store from growing without end: it keeps every revision until somebody compacts. Apart from
 * `CellStore`, since only whoever looks after the store needs it.
 *
 * All throw StoreError.
 */
export interface StoreUpkeep {
  measure(): Promise<StoreSize>;
  /** Forgets what was overwritten or deleted before the revision. `compacted`: that was done already. */
  compact(revision: number): Promise<void>;
  /** Gives the space of what was forgotten back, member by member; a member answers nobody meanwhile. */
  defragment(): Promise<void>;
  /** Lets the store be written to again after it was out of space. It says so again when it still is. */
  disarm(): Promise<void>;
  close(): Promise<void>;
}

export interface StoreSize {
  readonly revision: number;
  /** The largest member's database file. */
  readonly databaseBytes: number;
  /** Of these, what is in use; the rest is free for writing, but not for the quota. */
  readonly inUseBytes: number;
  /** The store refuses writes, deletions apart. */
  readonly isFull: boolean;
}
