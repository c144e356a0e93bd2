import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contextOf, logIds, readTraceparent, traceparentOf } from '../../../../src/core/trace/trace.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const HEADER = `00-${TRACE}-${SPAN}-01`;

describe('the trace context of a request', () => {
  it('is read as W3C has it, a later version too, and anything else is none', () => {
    expect(readTraceparent(HEADER)).toBe(HEADER);
    expect(readTraceparent(`cc-${TRACE}-${SPAN}-01-what-comes-later`)).toBe(HEADER);
    const wrong = [
      ...[undefined, '', 'web', HEADER.toUpperCase(), `${HEADER}-more`, ` ${HEADER}`, `${HEADER}\n`],
      ...[`ff-${TRACE}-${SPAN}-01`, `00-${'0'.repeat(32)}-${SPAN}-01`, `00-${TRACE}-${'0'.repeat(16)}-01`],
      ...[`00-${TRACE}-${SPAN}-1`, `00-${TRACE}-${SPAN}`],
    ];
    expect(wrong.filter((text) => readTraceparent(text) !== undefined)).toEqual([]);
  });

  it('comes back as it was written', () => {
    const hex = (length: number) =>
      fc.stringMatching(new RegExp(`^[0-9a-f]{${String(length)}}$`)).filter((text) => !/^0+$/.test(text));
    fc.assert(
      fc.property(hex(32), hex(16), fc.boolean(), (traceId, spanId, isSampled) => {
        const context = { traceId, spanId, isSampled };
        expect(contextOf(traceparentOf(context))).toEqual(context);
      }),
    );
  });

  it('gives lines about a job and its allocations the same fields', () => {
    const about = { namespace: 'team-a', job: 'web' };
    expect(logIds(about)).toEqual({ job: 'team-a/web' });
    expect(logIds({ ...about, id: 'a1' }, HEADER)).toEqual({
      ...{ job: 'team-a/web', allocation: 'a1', trace: TRACE },
    });
    expect(logIds(about, 'no context')).toEqual({ job: 'team-a/web' });
  });
});
