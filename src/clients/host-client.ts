import type { AllocationReport } from '../core/host/report.ts';
import type { Asked, DelegatedAct } from '../core/access/delegation.ts';
import type { ChannelCall, HttpAnswer, HttpCall, HttpClient } from '../ports/http.ts';
import { HttpError } from '../ports/http.ts';
import type { SignalAnswer } from '../wire/api/attach-frames.ts';
import type { CommandStatus, ExecRequest, SignalRequest } from '../wire/api/exec-api.ts';
import type {
  HostListing,
  LogStream,
  StartAnswer,
  StartRefusal,
  StartRequest,
  StopRequest,
} from '../wire/api/host-api.ts';
import { LOG_OFFSET_HEADER, START_REFUSALS } from '../wire/api/host-api.ts';
import type { HostUsage } from '../wire/api/usage-api.ts';
import type { Behalf, Delegator } from './delegator.ts';
import { bodyOf, isPassing, isSuccess, problemErrorOfStream, problemOf } from './clients.ts';

export interface HostClientOptions {
  /** For one order or question. */
  readonly timeoutMs: number;
  /** Silence after which a log stream counts as dead; a task may be silent for long. */
  readonly logIdleMs: number;
  /** Absent: the hosts trust whoever reaches them. */
  readonly delegator?: Delegator;
}

const DEFAULTS: HostClientOptions = { timeoutMs: 5_000, logIdleMs: 24 * 3600 * 1000 };

/**
 * The order may or may not have reached the host: read back with `get` before anything else happens. `sent: false`: it
 * surely did not. `answered`: an answer came, but not about the outcome.
 */
export interface UnknownOutcome {
  readonly kind: 'unknown';
  readonly sent: boolean;
  readonly answered: boolean;
  readonly detail: string;
}

export type StartOutcome =
  | { readonly kind: 'started'; readonly report: AllocationReport }
  | { readonly kind: 'refused'; readonly code: StartRefusal; readonly detail: string }
  | UnknownOutcome;

/** `absent`: the host has no such allocation, and will refuse to start it from now on. */
export type StopOutcome =
  | { readonly kind: 'stopping'; readonly report: AllocationReport }
  | { readonly kind: 'absent' }
  | { readonly kind: 'refused'; readonly code: string; readonly detail: string }
  | UnknownOutcome;

/** `removed`: the host has no record of it, now or before. `not-released`: it must be stopped and released first. */
export type RemoveOutcome = { readonly kind: 'removed' } | { readonly kind: 'not-released' } | UnknownOutcome;

export interface LogRequest {
  readonly task: string;
  readonly stream: LogStream;
  /** Of the first byte wanted, from 0. */
  readonly offset: number;
  /** Wait for more until the task has ended for good. */
  readonly follow: boolean;
  readonly signal?: AbortSignal;
}

export interface HostLog {
  /** Of the first byte that comes: larger than asked when older bytes were given up. */
  readonly offset: number;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** The host-agent's API. `address` is the host's, as registered. */
export class HostClient {
  readonly #http: HttpClient;
  readonly #options: HostClientOptions;

  constructor(http: HttpClient, options: Partial<HostClientOptions> = {}) {
    this.#http = http;
    this.#options = { ...DEFAULTS, ...options };
  }

  /** @param traceparent of the trace that it belongs to */
  async start(address: string, request: StartRequest, traceparent?: string): Promise<StartOutcome> {
    const reply = await this.#order({
      method: 'PUT',
      url: `${address}/v1/allocations/${request.allocation.id}`,
      body: request,
      ...(traceparent === undefined ? {} : { headers: { traceparent } }),
    });
    if (reply.kind === 'unknown') return reply;
    if (isSuccess(reply.answer))
      return { kind: 'started', report: (reply.answer.body as StartAnswer).report };
    const problem = problemOf(reply.answer);
    const code = START_REFUSALS.find((refusal) => refusal === problem.code);
    if (code !== undefined) return { kind: 'refused', code, detail: problem.detail };
    if (isPassing(problem.status)) return undecided(problem.detail);
    return { kind: 'refused', code: 'bad-request', detail: problem.detail };
  }

  async stop(address: string, id: string, request: StopRequest): Promise<StopOutcome> {
    const url = `${address}/v1/allocations/${id}/stop`;
    const reply = await this.#order({ method: 'POST', url, body: request });
    if (reply.kind === 'unknown') return reply;
    if (isSuccess(reply.answer)) return { kind: 'stopping', report: reply.answer.body as AllocationReport };
    const problem = problemOf(reply.answer);
    if (problem.code === 'no-allocation') return { kind: 'absent' };
    if (isPassing(problem.status)) return undecided(problem.detail);
    return { kind: 'refused', code: problem.code, detail: problem.detail };
  }

  async remove(address: string, id: string, commandId: string): Promise<RemoveOutcome> {
    const url = `${address}/v1/allocations/${id}?commandId=${encodeURIComponent(commandId)}`;
    const reply = await this.#order({ method: 'DELETE', url });
    if (reply.kind === 'unknown') return reply;
    if (isSuccess(reply.answer)) return { kind: 'removed' };
    if (reply.answer.status === 409) return { kind: 'not-released' };
    return undecided(problemOf(reply.answer).detail);
  }

  /** Deletes the data of a volume for good, by its driver if it has one. @returns null: done; or why not, for people */
  async deleteVolume(
    address: string,
    {
      namespace,
      claim,
      id,
      driver,
    }: {
      readonly namespace: string;
      readonly claim: string;
      readonly id: string;
      readonly driver?: string;
    },
  ): Promise<string | null> {
    const by = driver === undefined ? '' : `?driver=${driver}`;
    const url = `${address}/v1/volumes/${namespace}/${claim}/${id}${by}`;
    const reply = await this.#order({ method: 'DELETE', url });
    if (reply.kind === 'unknown') return reply.detail;
    return isSuccess(reply.answer) ? null : problemOf(reply.answer).detail;
  }

  /** @throws HttpError, ProblemError */
  async list(address: string, timeoutMs = this.#options.timeoutMs): Promise<HostListing> {
    return bodyOf<HostListing>(
      await this.#http.call({ method: 'GET', url: `${address}/v1/allocations`, to: 'agent', timeoutMs }),
    );
  }

  /** @returns null when the host has no record of it. @throws HttpError, ProblemError */
  async get(address: string, id: string): Promise<AllocationReport | null> {
    const answer = await this.#call({ method: 'GET', url: `${address}/v1/allocations/${id}` });
    if (answer.status === 404 && problemOf(answer).code === 'no-allocation') return null;
    return bodyOf<AllocationReport>(answer);
  }

  /** @throws HttpError, ProblemError */
  usage(address: string): Promise<HostUsage> {
    return this.#ask('GET', `${address}/v1/usage`);
  }

  /**
   * Runs a command inside an allocation. Safe to ask again, under the same command id.
   * @throws HttpError, ProblemError
   */
  exec(address: string, id: string, body: ExecRequest, behalf?: Behalf): Promise<CommandStatus> {
    const headers = this.#headers(id, 'exec', { query: {}, body }, behalf);
    return this.#ask('POST', `${address}/v1/allocations/${id}/exec`, { body, headers });
  }

  /** @throws HttpError, ProblemError */
  command(address: string, id: string, command: string, behalf?: Behalf): Promise<CommandStatus> {
    const headers = this.#headers(id, 'command', { command, query: {} }, behalf);
    return this.#ask('GET', `${address}/v1/allocations/${id}/exec/${encodeURIComponent(command)}`, {
      headers,
    });
  }

  /** Safe to ask again, under the same command id. @throws HttpError, ProblemError */
  signal(address: string, id: string, body: SignalRequest, behalf?: Behalf): Promise<SignalAnswer> {
    const headers = this.#headers(id, 'signal', { query: {}, body }, behalf);
    return this.#ask('POST', `${address}/v1/allocations/${id}/signal`, { body, headers });
  }

  /** How a channel to a task is opened. @param query as in `wire/exec-api.ts` */
  attaching(
    address: string,
    id: string,
    query: Readonly<Record<string, string>>,
    behalf: Behalf,
  ): Pick<ChannelCall, 'url' | 'to' | 'headers'> {
    const url = `${address}/v1/allocations/${id}/attach?${new URLSearchParams(query).toString()}`;
    return { url, to: 'agent', headers: this.#headers(id, 'attach', { query }, behalf) };
  }

  /** @throws HttpError, ProblemError */
  async logs(address: string, id: string, request: LogRequest, behalf?: Behalf): Promise<HostLog> {
    const query = {
      task: request.task,
      stream: request.stream,
      offset: String(request.offset),
      follow: String(request.follow),
    };
    const answer = await this.#http.stream({
      method: 'GET',
      url: `${address}/v1/allocations/${id}/logs?${new URLSearchParams(query).toString()}`,
      headers: this.#headers(id, 'logs', { query }, behalf),
      to: 'agent',
      timeoutMs: this.#options.timeoutMs,
      idleTimeoutMs: this.#options.logIdleMs,
      ...(request.signal === undefined ? {} : { signal: request.signal }),
    });
    if (!isSuccess(answer)) throw await problemErrorOfStream(answer);
    return { offset: Number(answer.headers[LOG_OFFSET_HEADER] ?? request.offset), chunks: answer.chunks };
  }

  #headers(allocation: string, act: DelegatedAct, asked: Asked, behalf: Behalf | undefined): Headers {
    const { delegator } = this.#options;
    return behalf === undefined ? {} : (delegator?.headers(behalf, { allocation, act }, asked) ?? {});
  }

  async #ask<T>(
    method: HttpCall['method'],
    url: string,
    more: Pick<HttpCall, 'body' | 'headers'> = {},
  ): Promise<T> {
    return bodyOf<T>(await this.#call({ method, url, ...more }));
  }

  #call(call: Pick<HttpCall, 'method' | 'url' | 'body' | 'headers' | 'batched'>): Promise<HttpAnswer> {
    return this.#http.call({ ...call, to: 'agent', timeoutMs: this.#options.timeoutMs });
  }

  /** Orders to one host go together where there are several at a time. */
  async #order(call: Pick<HttpCall, 'method' | 'url' | 'body' | 'headers'>): Promise<OrderReply> {
    try {
      return { kind: 'answered', answer: await this.#call({ ...call, batched: true }) };
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      return { kind: 'unknown', sent: error.sent, answered: false, detail: error.message };
    }
  }
}

type Headers = Readonly<Record<string, string>>;

type OrderReply = { readonly kind: 'answered'; readonly answer: HttpAnswer } | UnknownOutcome;

function undecided(detail: string): UnknownOutcome {
  return { kind: 'unknown', sent: true, answered: true, detail };
}
