import { errorText } from '../../src/core/errors/errors.ts';
import type { SpanFacts } from '../../src/core/trace/spans.ts';
import { contextOf, readTraceparent } from '../../src/core/trace/trace.ts';
import type { RouteRequest } from '../../src/ports/http.ts';
import type { RolePorts } from '../../src/runtime/runtime.ts';
import { REQUEST_ID_HEADER } from '../../src/wire/access/audit-api.ts';

type Facts = Partial<Pick<SpanFacts<'submit'>, 'job' | 'jobs' | 'version'>>;

/**
 * Where a job begins its way, its trace does: that of the caller's `traceparent`, or one of its own where traces are recorded.
 *
 * @param submit gets the trace context for the job's record
 * @param factsOf what the span and the log say of it
 */
export async function tracedSubmit<T>(
  { tracer, log }: Pick<RolePorts, 'tracer' | 'log'>,
  { headers }: Pick<RouteRequest, 'headers'>,
  submit: (traceparent: string | undefined) => Promise<T>,
  factsOf: (answer: T) => Facts,
): Promise<T> {
  const given = readTraceparent(headers['traceparent']);
  const span = tracer?.enter('submit', given);
  const traceparent = span?.traceparent ?? given;
  const request = headers[REQUEST_ID_HEADER];
  try {
    const answer = await submit(traceparent);
    const facts = { ...factsOf(answer), request };
    span?.end(facts);
    if (log.isDebug === true) {
      const trace = traceparent === undefined ? undefined : contextOf(traceparent)?.traceId;
      log.debug({ ...facts, trace }, 'submitted');
    }
    return answer;
  } catch (error) {
    span?.end({ request }, errorText(error));
    throw error;
  }
}
