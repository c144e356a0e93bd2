import type { StartTerms } from '../core/quota/ticket.ts';
import type { HttpClient } from '../ports/http.ts';
import { HttpError } from '../ports/http.ts';
import type {
  FetchSlice,
  FetchSliceRequest,
  GrantListing,
  TicketAnswer,
  TicketGrant,
  TicketRequest,
} from '../wire/api/arbiter-api.ts';
import { FINAL_GRANT_REFUSALS, PLACEMENTS_MAX, requestFor } from '../wire/api/arbiter-api.ts';
import { traceHeaders } from '../core/trace/trace-headers.ts';
import { ProblemError } from '../wire/api/problem.ts';
import { bodyOf } from './clients.ts';

export interface ArbiterClientOptions {
  /** For one request of up to `PLACEMENTS_MAX` placements. */
  readonly timeoutMs: number;
}

const DEFAULTS: ArbiterClientOptions = { timeoutMs: 5_000 };

/** `unanswered`: no arbiter could be reached about it; asking again is safe. */
export type TicketOutcome = TicketGrant | { readonly id: string; readonly unanswered: string };

export class ArbiterClient {
  readonly #http: HttpClient;
  readonly #options: ArbiterClientOptions;
  /** Namespaces of which an arbiter said last that they have a quota. */
  readonly #limited = new Set<string>();

  constructor(http: HttpClient, options: Partial<ArbiterClientOptions> = {}) {
    this.#http = http;
    this.#options = { ...DEFAULTS, ...options };
  }

  /**
   * Asks one arbiter after the other until each placement has a ticket, or a refusal of the arbiter that keeps its quota.
   * Asking twice is safe: an arbiter holds one grant for one allocation on one host, and only one ticket of it can be used.
   *
   * @param addresses of the arbiters, in the order in which to ask them
   * @param units placements of which all are granted or none; of more than `PLACEMENTS_MAX`, so many at a time
   * @param traces of each unit the trace that it belongs to
   * @returns one outcome for each placement of each unit, in their order
   */
  async tickets(
    addresses: readonly string[],
    scheduler: string,
    units: readonly (readonly StartTerms[])[],
    traces: readonly (string | undefined)[] = [],
  ): Promise<readonly (readonly TicketOutcome[])[]> {
    const traceOf = tracesBy(units, traces);
    const outcomes = new Map<StartTerms, TicketOutcome>();
    const isOpen = (unit: readonly StartTerms[]): boolean =>
      unit.some((terms) => !isFinal(outcomes.get(terms)));
    const parts = units.flatMap(inParts);
    for (const address of addresses) {
      const open = parts.filter(isOpen);
      if (open.length === 0) break;
      for (const [terms, outcome] of await this.#askAll(address, scheduler, open, traceOf)) {
        const known = outcomes.get(terms);
        if (known === undefined || weight(outcome) >= weight(known)) outcomes.set(terms, outcome);
      }
    }
    const unanswered = addresses.length === 0 ? 'no arbiter is known' : 'no arbiter answered';
    return units.map((unit) =>
      unit.map((terms) => outcomes.get(terms) ?? { id: terms.claim.id, unanswered }),
    );
  }

  /** As far as known, an answer about the namespace waits for a write: what has no quota is asked for apart. */
  isLimited(namespace: string): boolean {
    return this.#limited.has(namespace);
  }

  /**
   * The next part of the rate at which a host may fetch.
   *
   * @returns null: the arbiter does not answer, or does not keep the rates
   */
  async fetchSlice(address: string, request: FetchSliceRequest): Promise<FetchSlice | null> {
    const { timeoutMs } = this.#options;
    const url = `${address}/v1/fetch-slices`;
    try {
      return bodyOf(await this.#http.call({ method: 'POST', url, to: 'arbiter', body: request, timeoutMs }));
    } catch (error) {
      if (error instanceof HttpError || error instanceof ProblemError) return null;
      throw error;
    }
  }

  /** What the arbiter knows of namespaces; null: it does not answer. */
  async grants(address: string): Promise<GrantListing | null> {
    const { timeoutMs } = this.#options;
    try {
      return bodyOf(await this.#http.call({ method: 'GET', url: `${address}/v1/grants`, timeoutMs }));
    } catch (error) {
      if (error instanceof HttpError || error instanceof ProblemError) return null;
      throw error;
    }
  }

  async #askAll(
    address: string,
    scheduler: string,
    units: readonly (readonly StartTerms[])[],
    traceOf: ReadonlyMap<StartTerms, string>,
  ): Promise<readonly (readonly [StartTerms, TicketOutcome])[]> {
    const result: (readonly [StartTerms, TicketOutcome])[] = [];
    for (const some of inRequests(units)) {
      const request = requestFor(scheduler, some);
      const headers = traceHeaders(request.placements.map((terms) => traceOf.get(terms)));
      const answers = await this.#ask(address, request, headers);
      for (const [position, terms] of request.placements.entries()) {
        const id = terms.claim.id;
        const answer = typeof answers === 'string' ? undefined : answers[position];
        const fault = typeof answers === 'string' ? answers : 'the arbiter left it out';
        result.push([terms, answer?.id === id ? answer : { id, unanswered: fault }]);
      }
    }
    return result;
  }

  async #ask(
    address: string,
    request: TicketRequest,
    headers: Readonly<Record<string, string>>,
  ): Promise<readonly TicketGrant[] | string> {
    const { timeoutMs } = this.#options;
    const url = `${address}/v1/tickets`;
    const call = { method: 'POST', url, to: 'arbiter', body: request, headers, timeoutMs } as const;
    try {
      const { answers, limited = [] } = bodyOf<TicketAnswer>(await this.#http.call(call));
      for (const { namespace } of request.placements) this.#limited.delete(namespace);
      for (const namespace of limited) this.#limited.add(namespace);
      return answers;
    } catch (error) {
      if (error instanceof HttpError || error instanceof ProblemError) return error.message;
      throw error;
    }
  }
}

const NO_TRACES: ReadonlyMap<StartTerms, string> = new Map();

function tracesBy(
  units: readonly (readonly StartTerms[])[],
  traces: readonly (string | undefined)[],
): ReadonlyMap<StartTerms, string> {
  if (traces.every((trace) => trace === undefined)) return NO_TRACES;
  const found = new Map<StartTerms, string>();
  for (const [i, unit] of units.entries()) {
    const trace = traces[i];
    if (trace !== undefined) for (const terms of unit) found.set(terms, trace);
  }
  return found;
}

function inParts(unit: readonly StartTerms[]): readonly (readonly StartTerms[])[] {
  if (unit.length <= PLACEMENTS_MAX) return [unit];
  const parts: (readonly StartTerms[])[] = [];
  for (let from = 0; from < unit.length; from += PLACEMENTS_MAX)
    parts.push(unit.slice(from, from + PLACEMENTS_MAX));
  return parts;
}

/** Packs units into requests of at most `PLACEMENTS_MAX` placements. */
function inRequests(
  units: readonly (readonly StartTerms[])[],
): readonly (readonly (readonly StartTerms[])[])[] {
  const requests: (readonly StartTerms[])[][] = [];
  let left = 0;
  for (const unit of units) {
    if (requests.length === 0 || unit.length > left) {
      requests.push([]);
      left = PLACEMENTS_MAX;
    }
    requests.at(-1)?.push(unit);
    left -= unit.length;
  }
  return requests;
}

/** A ticket, or a refusal that every other arbiter would repeat. */
function isFinal(outcome: TicketOutcome | undefined): boolean {
  if (outcome === undefined || 'unanswered' in outcome) return false;
  return 'ticket' in outcome || FINAL_GRANT_REFUSALS.has(outcome.refusal.code);
}

/** Of two outcomes the heavier one stands: the keeper of the quota says why, a standby only names the keeper. */
function weight(outcome: TicketOutcome): number {
  if ('unanswered' in outcome) return 0;
  if ('ticket' in outcome) return 3;
  return outcome.refusal.code === 'standby' ? 1 : 2;
}
