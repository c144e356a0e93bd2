import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { MetricLabels, Metrics } from '../../ports/telemetry.ts';

export interface PromMetricsOptions {
  /** Also memory, CPU and event loop lag of this process. Off in tests: its collectors outlive them. */
  readonly processMetrics?: boolean;
}

/** From one tenth of a millisecond (a decision) to half a minute (a start with everything slow). */
const BUCKETS_SECONDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

/** A metric with more series than this has an id for a label; the text of `/metrics` would grow without end. */
const SERIES_MAX = 1_000;

const DROPPED = 'moorage_metric_samples_dropped_total';

type Instrument = Counter | Gauge | Histogram;

interface Settings {
  readonly name: string;
  readonly help: string;
  readonly labelNames: string[];
  readonly registers: Registry[];
  readonly buckets?: number[];
}

interface Registered {
  readonly instrument: Instrument;
  readonly labels: string;
  readonly series: Set<string>;
}

/**
 * Metrics in a registry of their own. A name is registered at its first use, and the label names of that use are its
 * label set for good; a sample that does not fit it is dropped and counted, since a wrong metric is no reason to fail.
 */
export function promMetrics(options: PromMetricsOptions = {}): Metrics {
  const registry = new Registry();
  const known = new Map<string, Registered>();
  const dropped = new Counter({
    name: DROPPED,
    help: DROPPED,
    labelNames: ['metric'],
    registers: [registry],
  });
  if (options.processMetrics === true) collectDefaultMetrics({ register: registry });

  function find<T extends Instrument>(
    kind: new (settings: Settings) => T,
    name: string,
    labels: MetricLabels,
  ): T | null {
    const labelNames = Object.keys(labels).sort();
    let found = known.get(name);
    if (found === undefined) {
      const instrument = new kind({
        name,
        help: name,
        labelNames,
        registers: [registry],
        ...bucketsOf(kind),
      });
      found = { instrument, labels: labelNames.join(), series: new Set() };
      known.set(name, found);
    }
    const fits =
      found.instrument instanceof kind && found.labels === labelNames.join() && isWithinBound(found, labels);
    if (fits) return found.instrument as T;
    dropped.inc({ metric: name });
    return null;
  }

  return {
    count: (name, labels = {}, by = 1) => find<Counter>(Counter, name, labels)?.inc(labels, by),
    observe: (name, seconds, labels = {}) =>
      find<Histogram>(Histogram, name, labels)?.observe(labels, seconds),
    gauge: (name, value, labels = {}) => find<Gauge>(Gauge, name, labels)?.set(labels, value),
    render: () => registry.metrics(),
  };
}

function bucketsOf(kind: unknown): { buckets: number[] } | undefined {
  return kind === Histogram ? { buckets: BUCKETS_SECONDS } : undefined;
}

function isWithinBound(registered: Registered, labels: MetricLabels): boolean {
  if (registered.labels === '') return true;
  const series = JSON.stringify(Object.entries(labels).sort());
  if (registered.series.has(series)) return true;
  if (registered.series.size >= SERIES_MAX) return false;
  registered.series.add(series);
  return true;
}
