import { readTraceparent } from './trace.ts';

/**
 * The traces to which the parts of one request belong. All of one: the standard header `traceparent`. Parts of several jobs:
 * `x-traceparents`, a list of runs of parts, `0+3=00-…,7+1=00-…` from 0. Headers, since bodies are strict, and an arbiter of
 * another version must read them.
 */
const TRACES_HEADER = 'x-traceparents';
/** Of 60 bytes each. What is beyond them goes without: its jobs' traces lack a span. */
const RUNS_MAX = 32;

const RUN = /^(\d{1,4})\+(\d{1,4})=(.+)$/;

/** @param traces of each part; undefined: none */
export function traceHeaders(traces: readonly (string | undefined)[]): Readonly<Record<string, string>> {
  const [first] = traces;
  if (traces.every((trace) => trace === first)) return first === undefined ? {} : { traceparent: first };
  const runs: string[] = [];
  for (let at = 0; at < traces.length && runs.length < RUNS_MAX;) {
    const trace = traces[at];
    let end = at + 1;
    while (end < traces.length && traces[end] === trace) end += 1;
    if (trace !== undefined) runs.push(`${String(at)}+${String(end - at)}=${trace}`);
    at = end;
  }
  return { [TRACES_HEADER]: runs.join(',') };
}

/** @param parts how many the request has. @returns of each the trace, where one was named that can be read */
export function readTraces(
  headers: Readonly<Record<string, string>>,
  parts: number,
): readonly (string | undefined)[] {
  const all = readTraceparent(headers['traceparent']);
  const traces = new Array<string | undefined>(parts).fill(all);
  for (const text of (headers[TRACES_HEADER] ?? '').split(',').slice(0, RUNS_MAX)) {
    const [, at = '', count = '', traceparent] = RUN.exec(text) ?? [];
    const trace = readTraceparent(traceparent);
    if (trace !== undefined) traces.fill(trace, Number(at), Math.min(parts, Number(at) + Number(count)));
  }
  return traces;
}
