/**
 * What follows a job on its way: `traceparent`, the W3C trace context (https://www.w3.org/TR/trace-context/), which its record and
 * the requests about it carry; and the fields by which lines about it are found in the log of every role. `spans.ts`: what each
 * role records of a trace; `trace-headers.ts`: the traces of a request about several jobs.
 */

/** Version, trace id, id of the span that what follows belongs to, flags. A later version may add more after a dash. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-((?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2})(-.*)?$/;

/** Of a header; undefined: there is none that can be read, and the request begins a trace of its own, if any. */
export function readTraceparent(text: string | undefined): string | undefined {
  const [, version, context, more] = TRACEPARENT.exec(text ?? '') ?? [];
  if (context === undefined || (version === '00' && more !== undefined)) return undefined;
  return `00-${context}`;
}

export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
  /** Whoever made it records the trace; others that do so, too, make it whole. */
  readonly isSampled: boolean;
}

/** null: the text in a record was no trace context. */
export function contextOf(traceparent: string): TraceContext | null {
  const read = readTraceparent(traceparent);
  if (read === undefined) return null;
  const [, traceId = '', spanId = '', flags = ''] = read.split('-');
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function traceparentOf({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

/** What a line of a log is about. */
export interface LogIds {
  /** `namespace/job` */
  readonly job: string;
  readonly allocation?: string;
  /** Id of the trace that the job belongs to. */
  readonly trace?: string;
}

/** The same fields in every role, so that a search for one id finds the way of a job over all of them. */
export function logIds(
  about: { readonly namespace: string; readonly job: string; readonly id?: string },
  traceparent?: string,
): LogIds {
  const { namespace, job, id } = about;
  const traceId = traceparent === undefined ? undefined : contextOf(traceparent)?.traceId;
  return {
    job: `${namespace}/${job}`,
    ...(id === undefined ? {} : { allocation: id }),
    ...(traceId === undefined ? {} : { trace: traceId }),
  };
}
