import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { MetricName } from '../../ports/metric-names.ts';
import { METRICS } from '../../ports/metric-names.ts';
import type { Metrics } from '../../ports/telemetry.ts';
import { Exemplars } from './exemplars.ts';
import type { ExemplarOf } from './open-metrics.ts';
import { OPEN_METRICS_TYPE, openMetrics } from './open-metrics.ts';

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

/** They list every socket at each question: with thousands of hosts, a tenth of what a busy monitor has. */
const DEAR_METRICS = ['handles', 'resources', 'requests'].flatMap((what) => [
  `nodejs_active_${what}`,
  `nodejs_active_${what}_total`,
]);

/** How often the delay of the event loop is looked at. Every 10 ms, as by default, takes up to 0.6 % of a core in an idle process. */
const LAG_EVERY_MS = 1_000;

type Labels = Readonly<Record<string, string>>;

/** Metrics in a registry of their own. A sample beyond the bound of series, or without its labels, is dropped and counted. */
export function promMetrics(options: PromMetricsOptions = {}): Metrics {
  const registry = new Registry();
  if (options.processMetrics === true) {
    collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_EVERY_MS });
    for (const name of DEAR_METRICS) registry.removeSingleMetric(name);
  }
  const known = new Map<MetricName, Registered>();

  /** Registered at its first use: a role shows what it measures. */
  function registered(name: MetricName): Registered {
    let found = known.get(name);
    if (found === undefined) {
      found = { instrument: instrumentOf(name, registry), sums: new Map(), exemplars: null };
      known.set(name, found);
    }
    return found;
  }

  /** @returns null: it has too many series, or the labels are missing */
  function find<T extends Instrument>(
    name: MetricName,
    labels: Labels,
  ): (Registered & { instrument: T }) | null {
    const found = registered(name);
    const series = seriesOf(labels);
    if (!found.sums.has(series)) {
      if (found.sums.size >= SERIES_MAX || Object.keys(labels).length < METRICS[name].labels.length) {
        const dropped = registered('moorage_metric_samples_dropped_total').instrument as Counter;
        dropped.inc({ metric: name });
        return null;
      }
      found.sums.set(series, 0);
    }
    return found as Registered & { instrument: T };
  }

  return {
    count: (name, labels: Labels = {}, by = 1) => find<Counter>(name, labels)?.instrument.inc(labels, by),
    total: (name, sum, labels: Labels = {}) => {
      const found = find<Counter>(name, labels);
      if (found === null) return;
      const series = seriesOf(labels);
      found.instrument.inc(labels, Math.max(0, sum - (found.sums.get(series) ?? 0)));
      found.sums.set(series, sum);
    },
    observe: (name, seconds, labels: Labels = {}, traceparent) => {
      const found = find<Histogram>(name, labels);
      if (found === null) return;
      found.instrument.observe(labels, seconds);
      if (traceparent === undefined) return;
      found.exemplars ??= new Exemplars(BUCKETS_SECONDS);
      found.exemplars.add(seriesOf(labels), seconds, traceparent);
    },
    gauge: (name, value, labels: Labels = {}) => find<Gauge>(name, labels)?.instrument.set(labels, value),
    render: async (accept = '') => {
      if (!accept.includes('application/openmetrics-text'))
        return { body: await registry.metrics(), contentType: registry.contentType };
      const all = await registry.getMetricsAsJSON();
      const exemplarOf: ExemplarOf = (name, labels, bound) =>
        known.get(name as MetricName)?.exemplars?.of(seriesOf(labels), bound);
      return { body: openMetrics(all, exemplarOf), contentType: OPEN_METRICS_TYPE };
    },
  };
}

type Instrument = Counter | Gauge | Histogram;

interface Registered {
  readonly instrument: Instrument;
  /** Of each series: the last sum that the caller gave, for a counter whose sum it keeps. */
  readonly sums: Map<string, number>;
  /** Of a histogram, once there is one. */
  exemplars: Exemplars | null;
}

function instrumentOf(name: MetricName, registry: Registry): Instrument {
  const { kind, help, labels } = METRICS[name];
  const settings = { name, help, labelNames: [...labels], registers: [registry] };
  if (kind === 'counter') return new Counter(settings);
  if (kind === 'gauge') return new Gauge(settings);
  return new Histogram({ ...settings, buckets: BUCKETS_SECONDS });
}

function seriesOf(labels: Labels): string {
  const values = Object.values(labels);
  return values.length < 2 ? (values[0] ?? '') : JSON.stringify(Object.entries(labels).sort());
}
