/** Bounds how many calls run at once; the rest wait in order. */
export interface CallQueue {
  /** Runs `call` when there is room; rejects with what it throws. */
  add<T>(call: () => Promise<T>): Promise<T>;
  /** Waiting and running. */
  readonly depth: number;
}
