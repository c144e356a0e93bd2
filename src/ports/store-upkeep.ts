/**
 * Keeps the database of a store small: it holds every revision until it is compacted. Apart from `CellStore`, since only the
 * monitor that maintains the store needs it.
 *
 * All throw StoreError.
 */
export interface StoreUpkeep {
  measure(): Promise<StoreSize>;
  /** Drops what was overwritten or deleted before the revision. `compacted`: that was done already. */
  compact(revision: number): Promise<void>;
  /** Returns the free space to the file system, member by member; a member does not answer meanwhile. */
  defragment(): Promise<void>;
  /** Allows writes again after the store was out of space; it refuses them again when it still is. */
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
