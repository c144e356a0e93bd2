import type { SpanFacts, SpanName } from '../core/trace/spans.ts';
import type { LabelsOf, MetricOf } from './metric-names.ts';

/** Logs, metrics and traces of a role. */
export interface Log {
  /** Are lines of this level written? Spares what happens often the making of its fields. Absent: no. */
  readonly isDebug?: boolean;
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
  /**
   * Into a histogram; seconds.
   * @param traceparent of a recorded trace that it belongs to: an example of its bucket
   */
  observe<N extends MetricOf<'histogram'>>(
    name: N,
    seconds: number,
    labels?: LabelsOf<N>,
    traceparent?: string,
  ): void;
  gauge<N extends MetricOf<'gauge'>>(name: N, value: number, labels?: LabelsOf<N>): void;
  /** What `/metrics` answers. @param accept the header of that name: OpenMetrics, with examples, where it asks for that */
  render(accept?: string): Promise<Exposition>;
}

export interface Exposition {
  readonly body: string;
  readonly contentType: string;
}

/** Records what a role does for a job, as spans of the job's trace. A role without one records nothing. */
export interface Tracer {
  /** A span where a request enters the cell: it joins the caller's trace, or begins one. */
  enter<N extends SpanName>(name: N, traceparent: string | undefined): Span<N>;
  /**
   * A span that belongs to another one, of this role or another.
   * @param startMs wall clock; absent: now
   * @returns null: the job has no trace, or one that is not recorded
   */
  begin<N extends SpanName>(name: N, traceparent: string | undefined, startMs?: number): Span<N> | null;
}

export interface Span<N extends SpanName> {
  /** For whatever belongs to it. */
  readonly traceparent: string;
  /** @param failure why it failed; @param endMs wall clock; absent: now */
  end(facts: SpanFacts<N>, failure?: string | null, endMs?: number): void;
}
