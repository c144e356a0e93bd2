import { PortError } from './ports.ts';

/** Fetches files that tasks need. */
export interface ArtifactSource {
  /**
   * Fetches a file into the state folder, and syncs it. It replaces a file under `into`.
   * @param source `https://…`, `http://…` or `file:///…`
   * @param into path in the state folder
   * @throws FetchError; then `into` does not exist
   */
  fetch(source: string, into: string, options: FetchOptions): Promise<Fetched>;
}

export interface FetchOptions {
  /** A larger file is refused as soon as that is known. */
  readonly bytesMax: number;
  readonly signal: AbortSignal;
  /** Awaited before so many more bytes are read. Absent: as fast as they come. */
  readonly pace?: (bytes: number) => Promise<void>;
}

export interface Fetched {
  /** Of the fetched file, 64 hex digits; the caller compares it. */
  readonly sha256: string;
  readonly bytes: number;
}

/** `refused`: another try will fail too. `unreachable`: a later try may succeed. `full`: it does not fit. */
export type FetchErrorCode = 'refused' | 'unreachable' | 'full';

export class FetchError extends PortError<FetchErrorCode> {
  override readonly name = 'FetchError';

  constructor(code: FetchErrorCode, message: string, cause?: unknown) {
    super(code, message, { retryable: code === 'unreachable', cause });
  }
}
