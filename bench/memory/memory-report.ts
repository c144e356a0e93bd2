/** What a process of `memory` takes. Bytes. */
export interface MemoryReport {
  readonly readyMs: number;
  /** What the process holds when it has come to rest, and at the most on the way. */
  readonly rss: number;
  readonly rssPeak: number;
  readonly heap: number;
  readonly buffers: number;
}

/** Until the collector has returned to the system what reading the cell needed. */
const REST_MS = 3_000;

/** This process, once it has come to rest. To be run with `--expose-gc`. */
export async function atRest(readyMs: number): Promise<MemoryReport> {
  for (let n = 0; n < 3; n++) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, REST_MS / 3));
  }
  const { rss, heapUsed, arrayBuffers } = process.memoryUsage();
  const rssPeak = process.resourceUsage().maxRSS * 1024;
  return { readyMs, rss, rssPeak, heap: heapUsed, buffers: arrayBuffers };
}
