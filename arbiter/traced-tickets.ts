import type { StartTerms } from '../src/core/quota/ticket.ts';
import { readTraces } from '../src/core/trace/trace-headers.ts';
import { logIds } from '../src/core/trace/trace.ts';
import type { Log, Tracer } from '../src/ports/telemetry.ts';
import type { TicketAnswer, TicketGrant, TicketRequest } from '../src/wire/api/arbiter-api.ts';

export interface TracedTicketsDeps {
  readonly log: Log;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer;
}

/** Answers a request for tickets, and records it: a span for each trace in it, and at debug level a line for each placement. */
export async function tracedTickets(
  { log, tracer }: TracedTicketsDeps,
  request: TicketRequest,
  headers: Readonly<Record<string, string>>,
  answer: (request: TicketRequest) => Promise<TicketAnswer>,
): Promise<TicketAnswer> {
  if (tracer === undefined && log.isDebug !== true) return answer(request);
  const { placements, scheduler } = request;
  const traces = readTraces(headers, placements.length);
  const spans = new Map(
    [...new Set(traces)].map((trace) => [trace, tracer?.begin('grant', trace) ?? null] as const),
  );
  const { answers, ...rest } = await answer(request);
  for (const [trace, span] of spans) {
    const own = answers.filter((_answer, at) => traces[at] === trace);
    const first = placements[traces.indexOf(trace)];
    const granted = own.filter((one) => 'ticket' in one).length;
    const job = first === undefined ? undefined : `${first.namespace}/${first.job}`;
    span?.end({ job, scheduler, granted, refused: own.length - granted });
  }
  if (log.isDebug === true)
    for (const [at, terms] of placements.entries()) logAnswer(log, terms, traces[at], answers[at]);
  return { answers, ...rest };
}

function logAnswer(
  log: Log,
  { namespace, job, scheduler, aud, claim }: StartTerms,
  trace: string | undefined,
  answer: TicketGrant | undefined,
): void {
  const ids = { ...logIds({ namespace, job, id: claim.id }, trace), scheduler, host: aud };
  if (answer !== undefined && 'refusal' in answer)
    log.debug({ ...ids, refusal: answer.refusal.code }, 'a ticket is refused');
  else log.debug(ids, 'a ticket is granted');
}
