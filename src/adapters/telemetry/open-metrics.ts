import type { MetricObjectWithValues, MetricValue, MetricValueWithName } from 'prom-client';
import type { Exemplar } from './exemplars.ts';

export const OPEN_METRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/** Finds the example of a bucket: of the series with these labels, `le` apart. */
export type ExemplarOf = (
  metric: string,
  labels: Readonly<Record<string, string>>,
  bound: number | string,
) => Exemplar | undefined;

/**
 * The metrics as https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md has them. prom-client writes
 * that format too, but not beside its own older one from the same registry: it takes `_total` off the counters' names for good.
 */
export function openMetrics(
  metrics: readonly MetricObjectWithValues<MetricValue<string>>[],
  exemplarOf: ExemplarOf,
): string {
  const lines: string[] = [];
  for (const metric of metrics) {
    const type = String(metric.type);
    const family = type === 'counter' ? metric.name.replace(/_total$/, '') : metric.name;
    lines.push(`# HELP ${family} ${escaped(metric.help)}`, `# TYPE ${family} ${type}`);
    for (const sample of metric.values) {
      const name = (sample as Partial<MetricValueWithName<string>>).metricName ?? metric.name;
      const { le, ...labels } = sample.labels;
      const exemplar = le === undefined ? undefined : exemplarOf(metric.name, textsOf(labels), le);
      lines.push(`${name}${labelsText(sample.labels)} ${valueText(sample.value)}${exampleText(exemplar)}`);
    }
  }
  return `${lines.join('\n')}\n# EOF\n`;
}

type Labels = Readonly<Partial<Record<string, string | number>>>;

function textsOf(labels: Labels): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, String(value)]));
}

function labelsText(labels: Labels): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${escaped(String(value))}"`);
  return parts.length === 0 ? '' : `{${parts.join(',')}}`;
}

function exampleText(exemplar: Exemplar | undefined): string {
  if (exemplar === undefined) return '';
  const { traceId, value, atMs } = exemplar;
  return ` # {trace_id="${traceId}"} ${valueText(value)} ${String(atMs / 1000)}`;
}

function valueText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (Number.isFinite(value)) return String(value);
  return value > 0 ? '+Inf' : '-Inf';
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}
