import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { traceparentOf } from '../../../../src/core/trace/trace.ts';
import { readTraces, traceHeaders } from '../../../../src/core/trace/trace-headers.ts';

function trace(n: number): string {
  const traceId = (n + 1).toString(16).padStart(32, '0');
  return traceparentOf({ traceId, spanId: traceId.slice(16), isSampled: true });
}

describe('the traces of a request about several jobs', () => {
  it('come back for each part', () => {
    const some = fc.array(fc.option(fc.nat({ max: 3 }), { nil: undefined }), { minLength: 1, maxLength: 31 });
    fc.assert(
      fc.property(some, (jobs) => {
        const traces = jobs.map((job) => (job === undefined ? undefined : trace(job)));
        expect(readTraces(traceHeaders(traces), traces.length)).toEqual(traces);
      }),
    );
  });

  it('are the standard header where all parts belong to one', () => {
    expect(traceHeaders([trace(1), trace(1)])).toEqual({ traceparent: trace(1) });
    expect(traceHeaders([undefined])).toEqual({});
  });

  it('fit into the headers of a request, however many there are: the first ones', () => {
    const traces = Array.from({ length: 256 }, (_, n) => trace(n));
    const headers = traceHeaders(traces);
    expect(JSON.stringify(headers).length).toBeLessThan(4 * 1024);
    const read = readTraces(headers, traces.length);
    expect(read.slice(0, 32)).toEqual(traces.slice(0, 32));
    expect(read.slice(32).every((one) => one === undefined)).toBe(true);
  });

  it('name no part that there is not, whatever they say', () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(20), fc.nat(9_999), (text, at, count) => {
        const header = `${text},${String(at)}+${String(count)}=${trace(1)}`;
        expect(readTraces({ 'x-traceparents': header, traceparent: text }, 5)).toHaveLength(5);
      }),
    );
  });
});
