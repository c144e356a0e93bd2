import { plainAttribute } from '../src/core/host/attributes.ts';
import { RateQueue } from '../src/core/quota/rate-queue.ts';
import type { SharedResource } from '../src/core/quota/shared-resource.ts';
import { CELL_POOL, capacityOf, poolName } from '../src/core/quota/shared-resource.ts';
import type { FetchSlice } from '../src/wire/api/arbiter-api.ts';

/** A part takes so long of the whole rate: small enough for many hosts to be served in turn. */
const SLICE_MS = 5;
const SLICE_BYTES = { least: 64 * 1024, most: 8 * 1024 * 1024 };
/** Nothing limits the host. */
const FREE: FetchSlice = { bytes: SLICE_BYTES.most, afterMs: 0 };
/** What is promised reaches no further ahead, so that a new keeper knows when the promises of the one before are used up. */
export const PROMISED_MAX_MS = 10_000;
const AGAIN_MS = 1_000;
const MB = 1_000_000;

/**
 * The rates at which hosts fetch artifacts, all of a pool together (S3.35, S3.36): of each shared resource with the rate `fetch`.
 * Whatever a host fetches for, a new job, an update or a replacement, it takes its bytes from here, part by part.
 */
export class FetchSlices {
  readonly #queues = new Map<string, RateQueue>();
  #fence: number | null = null;
  #sinceMs = 0;

  /**
   * @param attributes of the host that fetches
   * @param fence since when this arbiter keeps the quotas: until the promises of the keeper before are used up it promises nothing
   */
  next(
    attributes: Readonly<Record<string, string>>,
    resources: Iterable<SharedResource>,
    { fence, nowMs }: { readonly fence: number; readonly nowMs: number },
  ): FetchSlice {
    if (fence !== this.#fence) {
      this.#fence = fence;
      this.#queues.clear();
      this.#sinceMs = nowMs + PROMISED_MAX_MS;
    }
    const rates = [...resources].flatMap((resource) => rateOf(resource, attributes));
    if (rates.length === 0) return FREE;
    const slowest = Math.min(...rates.map(({ perSecond }) => perSecond));
    const queues = rates.map(({ pool, perSecond }) => ({ queue: this.#queueOf(pool), perSecond }));
    const isLate = queues.some(({ queue }) => queue.nextMs(nowMs) > nowMs + PROMISED_MAX_MS);
    if (slowest === 0 || isLate) return { bytes: 0, afterMs: AGAIN_MS };
    const bytes = Math.round(
      Math.min(Math.max((slowest * SLICE_MS) / 1_000, SLICE_BYTES.least), SLICE_BYTES.most),
    );
    const atMs = Math.max(...queues.map(({ queue, perSecond }) => queue.take(bytes, perSecond, nowMs)));
    return { bytes, afterMs: Math.ceil(atMs - nowMs) };
  }

  #queueOf(pool: string): RateQueue {
    const known = this.#queues.get(pool);
    if (known !== undefined) return known;
    const queue = new RateQueue(this.#sinceMs);
    this.#queues.set(pool, queue);
    return queue;
  }
}

function rateOf(
  resource: SharedResource,
  attributes: Readonly<Record<string, string>>,
): readonly { readonly pool: string; readonly perSecond: number }[] {
  const { name, by, rate } = resource;
  if (rate !== 'fetch') return [];
  const value = by === null ? CELL_POOL : attributes[plainAttribute(by)];
  if (value === undefined || value === '') return [];
  return [{ pool: poolName(name, value), perSecond: capacityOf(resource, value) * MB }];
}
