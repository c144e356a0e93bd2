/** Where files come from that tasks need and their hosts do not have. */
export interface ArtifactSource {
  /**
   * Fetches a file into the state folder, and syncs it. What was there under `into` is lost.
   * @param source `https://…`, `http://…` or `file:///…`
   * @param into path in the state folder
   * @throws FetchError; nothing is left under `into` then
   */
  fetch(source: string, into: string, options: FetchOptions): Promise<Fetched>;
}

export interface FetchOptions {
  /** A larger file is refused as soon as that is known. */
  readonly bytesMax: number;
  readonly signal: AbortSignal;
}

export interface Fetched {
  /** Of what was fetched, 64 hex digits: whether it is what was wanted is the caller's to say. */
  readonly sha256: string;
  readonly bytes: number;
}

/** `refused`: asking again will not help. `unreachable`: it may be there later. `full`: it does not fit. */
export type FetchErrorCode = 'refused' | 'unreachable' | 'full';

export class FetchError extends Error {
  override readonly name = 'FetchError';
  readonly code: FetchErrorCode;
  readonly retryable: boolean;

  constructor(code: FetchErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.retryable = code === 'unreachable';
  }
}
