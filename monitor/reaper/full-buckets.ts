import type { Compare, Write } from '../../src/ports/cell-store.ts';
import type { MonitorContext } from '../context.ts';
import { monitorRank } from '../view/rank.ts';
import type { ReaperLimits } from './reaper-limits.ts';

export interface FullBucketsDeps extends MonitorContext {
  readonly limits: ReaperLimits;
}

/** Deletes in one sweep, well under every store's limit. */
const DELETES_MAX = 50;

/**
 * Deletes buckets of budgets that have long been full: an absent one is full too, and those of racks that are no more would
 * stay for ever. Whoever draws of one meanwhile changes it first, or finds it gone and draws of a full one.
 */
export class FullBuckets {
  readonly #deps: FullBucketsDeps;

  constructor(deps: FullBucketsDeps) {
    this.#deps = deps;
  }

  async sweep(): Promise<void> {
    const { copy, clock, limits, keys, store, metrics } = this.#deps;
    if (copy.buckets.size === 0 || monitorRank(this.#deps, keys.buckets) !== 0) return;
    const oldestMs = clock.nowMs() - limits.fullBucketMs;
    const compares: Compare[] = [];
    const writes: Write[] = [];
    for (const [name, { value, modRevision }] of copy.buckets.rows()) {
      if (value.fullAtMs >= oldestMs || writes.length >= DELETES_MAX) continue;
      compares.push({ key: keys.bucket(name), target: 'modRevision', equals: modRevision });
      writes.push({ kind: 'delete', key: keys.bucket(name) });
    }
    if (writes.length === 0) return;
    // One that was drawn from meanwhile keeps the others for another sweep.
    const { outcome } = await store.attempt({ compares, writes, readBack: [] });
    if (outcome === 'applied')
      metrics.count('moorage_monitor_reaped_total', { what: 'bucket' }, writes.length);
  }
}
