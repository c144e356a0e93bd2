import { contextOf } from '../../core/trace/trace.ts';

/** A measurement with the trace that it belongs to. */
export interface Exemplar {
  readonly traceId: string;
  readonly value: number;
  readonly atMs: number;
}

/** Of one histogram: the last example of each bucket of each series. */
export class Exemplars {
  readonly #bounds: readonly number[];
  readonly #bySeries = new Map<string, (Exemplar | undefined)[]>();

  /** @param bounds upper bounds of its buckets, in order; the last bucket has none */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
  }

  add(series: string, value: number, traceparent: string): void {
    const traceId = contextOf(traceparent)?.traceId;
    if (traceId === undefined) return;
    let buckets = this.#bySeries.get(series);
    if (buckets === undefined) this.#bySeries.set(series, (buckets = []));
    const found = this.#bounds.findIndex((bound) => value <= bound);
    // Told to other programs as the time of day: the machine's own clock, as in every adapter.
    buckets[found < 0 ? this.#bounds.length : found] = { traceId, value, atMs: Date.now() };
  }

  /** @param bound `+Inf` for the last bucket */
  of(series: string, bound: number | string): Exemplar | undefined {
    const at = typeof bound === 'number' ? this.#bounds.indexOf(bound) : this.#bounds.length;
    return this.#bySeries.get(series)?.[at];
  }
}
