import type { HttpAnswer, HttpCall, HttpClient, HttpStream } from '../ports/http.ts';
import { HttpError } from '../ports/http.ts';
import { ndjson } from '../runtime/ndjson.ts';
import { LOG_OFFSET_HEADER } from '../wire/host-api.ts';
import type { LogStream } from '../wire/host-api.ts';
import type {
  AllocationStatus,
  CellEvent,
  EligibilityRequest,
  HostListAnswer,
  HostStatus,
  JobStatus,
  JobSummary,
  RunAnswer,
  RunExit,
  SchedulerListAnswer,
  SubmitAnswer,
} from '../wire/monitor-api.ts';
import type { Why } from '../wire/scheduler-api.ts';
import { bodyOf, problemErrorOf } from './problem.ts';

export interface JobRef {
  readonly namespace: string;
  readonly job: string;
}

export interface LogCall {
  readonly stream: LogStream;
  readonly group?: string;
  readonly index?: number;
  readonly allocation?: string;
  readonly task?: string;
  /** Of the first byte wanted. Default 0. */
  readonly offset?: number;
  readonly follow: boolean;
  readonly signal?: AbortSignal;
}

export interface LogPart {
  /** Of the chunk's first byte: larger than the end of the one before when older bytes were given up. */
  readonly offset: number;
  readonly chunk: Uint8Array;
}

const CALL_TIMEOUT_MS = 10_000;
/** Longer than a monitor waits for a start, or lets an event stream be quiet. */
const STREAM_TIMEOUT_MS = 60_000;

/**
 * The monitors' API, typed, over several monitors: the one that answered last is asked first. Reads, and writes that may
 * safely be sent twice (a run with its key, an equal spec, a stop, a verdict), go on to the next monitor when one does
 * not answer; every write of this API is of that kind.
 */
export class MonitorClient {
  readonly #http: HttpClient;
  readonly #urls: readonly string[];
  #preferred = 0;

  /** @param urls base URLs without a slash at the end, at least one */
  constructor(http: HttpClient, urls: readonly string[]) {
    if (urls.length === 0) throw new Error('no monitor to ask');
    this.#http = http;
    this.#urls = urls;
  }

  /** @param file the job as people write it. @throws ProblemError, HttpError; so do all others */
  async submit(file: unknown, ifMatch?: number): Promise<SubmitAnswer> {
    const headers = ifMatch === undefined ? {} : { 'if-match': String(ifMatch) };
    return bodyOf(await this.#call({ method: 'POST', path: '/v1/jobs', body: file, headers }));
  }

  async run(file: unknown, idempotencyKey: string): Promise<RunAnswer> {
    const headers = { 'idempotency-key': idempotencyKey };
    return bodyOf(await this.#call({ method: 'POST', path: '/v1/runs', body: file, headers }));
  }

  async jobs(namespace?: string): Promise<readonly JobSummary[]> {
    const query = namespace === undefined ? '' : `?namespace=${namespace}`;
    return bodyOf<{ jobs: JobSummary[] }>(await this.#get(`/v1/jobs${query}`)).jobs;
  }

  async status(ref: JobRef): Promise<JobStatus> {
    return bodyOf(await this.#get(pathOf(ref)));
  }

  async why(ref: JobRef): Promise<Why> {
    return bodyOf(await this.#get(`${pathOf(ref)}/why`));
  }

  async stop(ref: JobRef): Promise<JobSummary> {
    return bodyOf(await this.#call({ method: 'POST', path: `${pathOf(ref)}/stop` }));
  }

  /** @returns null when it did not end within `waitMs` */
  async exit(ref: JobRef, waitMs: number): Promise<RunExit | null> {
    const path = `${pathOf(ref)}/exit?waitMs=${String(waitMs)}`;
    const answer = await this.#call({ method: 'GET', path, timeoutMs: waitMs + CALL_TIMEOUT_MS });
    return answer.status === 204 ? null : bodyOf(answer);
  }

  async allocations(ref: JobRef): Promise<readonly AllocationStatus[]> {
    const path = `/v1/allocations?namespace=${ref.namespace}&job=${ref.job}`;
    return bodyOf<{ allocations: AllocationStatus[] }>(await this.#get(path)).allocations;
  }

  async hosts(): Promise<HostListAnswer> {
    return bodyOf(await this.#get('/v1/hosts'));
  }

  async setEligibility(host: string, request: EligibilityRequest): Promise<HostStatus> {
    return bodyOf(await this.#call({ method: 'POST', path: `/v1/hosts/${host}/eligibility`, body: request }));
  }

  async schedulers(): Promise<SchedulerListAnswer> {
    return bodyOf(await this.#get('/v1/schedulers'));
  }

  /**
   * The output of one task, each byte once, going on at another monitor when one is cut off. With `follow` waits for the
   * start and ends with the allocation.
   */
  async *logs(ref: JobRef, call: LogCall): AsyncGenerator<LogPart> {
    let offset = call.offset ?? 0;
    for (let failures = 0; ;) {
      if (call.signal?.aborted === true) return;
      try {
        const stream = await this.#stream(`${pathOf(ref)}/logs?${logQuery(call, offset)}`, {}, call.signal);
        // Not started yet: the monitor has waited as long as it does, and asks to be asked again.
        if (stream.status === 204) continue;
        offset = Number(stream.headers[LOG_OFFSET_HEADER] ?? offset);
        for await (const chunk of stream.chunks) {
          failures = 0;
          yield { offset, chunk };
          offset += chunk.length;
        }
        return;
      } catch (error) {
        failures += 1;
        if (!(error instanceof HttpError) || failures > this.#urls.length) throw error;
        this.#moveOn();
      }
    }
  }

  /** Events after `since` from one monitor; ends, or throws HttpError, when that monitor does: ask again with the last id. */
  async *events(
    since: string,
    options: { follow: boolean; signal?: AbortSignal },
  ): AsyncGenerator<CellEvent> {
    const path = `/v1/events?since=${encodeURIComponent(since)}&follow=${String(options.follow)}`;
    const stream = await this.#stream(path, { accept: 'application/x-ndjson' }, options.signal);
    for await (const event of ndjson(stream.chunks)) yield event as CellEvent;
  }

  #get(path: string): Promise<HttpAnswer> {
    return this.#call({ method: 'GET', path });
  }

  #call(call: {
    readonly method: HttpCall['method'];
    readonly path: string;
    readonly body?: unknown;
    readonly headers?: Readonly<Record<string, string>>;
    readonly timeoutMs?: number;
  }): Promise<HttpAnswer> {
    const { path, ...rest } = call;
    return this.#anyMonitor(async (url) => {
      const answer = await this.#http.call({ timeoutMs: CALL_TIMEOUT_MS, ...rest, url: url + path });
      return { value: answer, isBusy: answer.status === 503 };
    });
  }

  #stream(path: string, headers: Record<string, string>, signal?: AbortSignal): Promise<HttpStream> {
    return this.#anyMonitor(async (url) => {
      const times = { timeoutMs: STREAM_TIMEOUT_MS, idleTimeoutMs: STREAM_TIMEOUT_MS };
      const more = signal === undefined ? {} : { signal };
      const stream = await this.#http.stream({ method: 'GET', url: url + path, headers, ...times, ...more });
      if (stream.status >= 300) throw problemErrorOf({ ...stream, body: await firstValue(stream.chunks) });
      return { value: stream, isBusy: false };
    });
  }

  /** One round over the monitors, until one answers; a 503 is an answer when all others fail. */
  async #anyMonitor<T>(ask: (url: string) => Promise<{ value: T; isBusy: boolean }>): Promise<T> {
    let last: { readonly value: T } | { readonly error: unknown } = { error: null };
    for (let tried = 0; tried < this.#urls.length; tried++) {
      try {
        const { value, isBusy } = await ask(this.#urls[this.#preferred] ?? '');
        if (!isBusy) return value;
        last = { value };
      } catch (error) {
        if (!(error instanceof HttpError)) throw error;
        if (!('value' in last)) last = { error };
      }
      this.#moveOn();
    }
    if ('value' in last) return last.value;
    throw last.error;
  }

  #moveOn(): void {
    this.#preferred = (this.#preferred + 1) % this.#urls.length;
  }
}

function pathOf({ namespace, job }: JobRef): string {
  return `/v1/jobs/${encodeURIComponent(namespace)}/${encodeURIComponent(job)}`;
}

function logQuery(call: LogCall, offset: number): string {
  const { signal: _signal, offset: _start, ...rest } = call;
  const given = Object.entries({ ...rest, offset }).map(([name, value]): [string, string] => [
    name,
    String(value),
  ]);
  return new URLSearchParams(given).toString();
}

async function firstValue(chunks: AsyncIterable<Uint8Array>): Promise<unknown> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of chunks) text += decoder.decode(chunk, { stream: true });
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
