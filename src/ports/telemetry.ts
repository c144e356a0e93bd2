/** Logs and metrics of a role. */
export interface Log {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
}

export type LogFields = Readonly<Record<string, unknown>>;

/** Names follow Prometheus: base units, `_total`, and never an allocation, job or user id as a label. */
export interface Metrics {
  count(name: string, labels?: MetricLabels, by?: number): void;
  /** Into a histogram; seconds. */
  observe(name: string, seconds: number, labels?: MetricLabels): void;
  gauge(name: string, value: number, labels?: MetricLabels): void;
  /** The exposition text of `/metrics`. */
  render(): Promise<string>;
}

export type MetricLabels = Readonly<Record<string, string>>;
