import type { LabelsOf, MetricOf } from './metric-names.ts';

/** Logs and metrics of a role. */
export interface Log {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
}

export type LogFields = Readonly<Record<string, unknown>>;

/** The metrics of `metric-names.ts`. Never an allocation, job or user id as a label. */
export interface Metrics {
  count<N extends MetricOf<'counter'>>(name: N, labels?: LabelsOf<N>, by?: number): void;
  /** A counter whose sum the caller keeps: since the process began. */
  total<N extends MetricOf<'counter'>>(name: N, sum: number, labels?: LabelsOf<N>): void;
  /** Into a histogram; seconds. */
  observe<N extends MetricOf<'histogram'>>(name: N, seconds: number, labels?: LabelsOf<N>): void;
  gauge<N extends MetricOf<'gauge'>>(name: N, value: number, labels?: LabelsOf<N>): void;
  /** The exposition text of `/metrics`. */
  render(): Promise<string>;
}
