import { PortError } from './ports.ts';

/**
 * Small durable records and the files of logs, under one folder. All paths are relative to it, with `/` between names.
 * Absence is a value, never an error; what the device refuses is a DiskError.
 */
export interface Disk {
  /** The whole file as text; null when it is not there. For records: files of at most some tens of KiB. */
  read(path: string): Promise<string | null>;

  /**
   * Makes the record, once: written beside, synced, then linked to its name, so that it is there in full or not at all
   * and the first writer wins for ever. Missing folders above it are made. `exists`: another writer was first, and nothing
   * was changed.
   */
  publish(path: string, text: string, options?: WriteOptions): Promise<'published' | 'exists'>;

  /** As `publish`, but takes the place of what was there: for the few records that change. Always synced. */
  replace(path: string, text: string): Promise<void>;

  /**
   * Puts a text for everybody to read into a folder that somebody else may write to: written elsewhere, then renamed, so that a
   * link that was laid there is replaced and not followed. Not synced.
   */
  hand(path: string, text: string): Promise<void>;

  /** Adds to the end of a file, which is made when it is missing, and syncs. Calls that come together share one sync. */
  append(path: string, text: string): Promise<void>;

  /** The names in a folder, in no order; empty when it is not there. */
  list(path: string): Promise<readonly string[]>;

  makeFolder(path: string): Promise<void>;

  /** Removes a file, or a folder with all that is in it. Symbolic links are removed, not followed. */
  remove(path: string): Promise<void>;

  /** Renames: moves unreadable files away. */
  move(from: string, to: string): Promise<void>;

  /** Length in bytes; null when it is not there. */
  sizeOf(path: string): Promise<number | null>;

  /** At most `length` bytes from `offset`; fewer at the end of the file, none when it is not there. */
  readRange(path: string, offset: number, length: number): Promise<Uint8Array>;

  /** Calls `onChange` after a change in the folder. A hint: may be late, doubled or missing. */
  watch(path: string, onChange: () => void): () => void;

  /** Bytes that can still be written. */
  freeBytes(): Promise<number>;

  /** The absolute path, for other processes; of the folder itself for the empty path. */
  absolute(path: string): string;
}

export interface WriteOptions {
  /** false: no sync, for what a power loss invalidates anyway. Default true. */
  readonly durable?: boolean;
}

/** `full`: no space, inodes or quota left. `read-only`: the device takes no writes. `io`: all else. */
export type DiskErrorCode = 'full' | 'read-only' | 'io';

export class DiskError extends PortError<DiskErrorCode> {
  override readonly name = 'DiskError';

  constructor(code: DiskErrorCode, message: string, cause?: unknown) {
    super(code, message, { retryable: code === 'full', cause });
  }
}
