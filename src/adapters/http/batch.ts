/** One HTTP request that carries several calls; `call-batches.ts` sends it, `batch-route.ts` takes it. */

export const BATCH_PATH = '/v1/batch';
/** Calls of one batch, at most. */
export const BATCH_CALLS_MAX = 128;

/** One of `calls` in the request: what it would say by itself, without what is the same for all. */
export interface BatchedCall {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: unknown;
}

/** A line of the answer, in the order in which the calls end. */
export interface BatchedAnswer {
  /** Position of the call in the request. */
  readonly call: number;
  readonly status: number;
  /** As JSON, a problem included. */
  readonly body?: unknown;
}
