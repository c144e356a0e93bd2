import type { HttpAnswer, HttpClient } from '../ports/http.ts';
import { HttpError } from '../ports/http.ts';
import { ndjson } from '../runtime/ndjson.ts';
import { LOG_OFFSET_HEADER } from '../wire/host-api.ts';
import type { CommandStatus, ExecRequest } from '../wire/exec-api.ts';
import type { LogStream } from '../wire/host-api.ts';
import type {
  AllocationListAnswer,
  BulkAnswer,
  CellEvent,
  EligibilityRequest,
  HostListAnswer,
  HostStatus,
  JobListAnswer,
  JobStatus,
  JobSummary,
  RunAnswer,
  RunExit,
  SchedulerListAnswer,
  SubmitAnswer,
  VersionAnswer,
} from '../wire/monitor-api.ts';
import { LOG_ALLOCATION_HEADER, REVISION_HEADER } from '../wire/monitor-api.ts';
import { ProblemError } from '../wire/problem.ts';
import type { CellStatus, SharedResourceRequest, SharedStatus } from '../wire/cell-api.ts';
import type { Why } from '../wire/scheduler-api.ts';
import type { CellUsage } from '../wire/usage-api.ts';
import type { MonitorAddresses, MonitorCall } from './monitor-round.ts';
import { MonitorRound } from './monitor-round.ts';
import { bodyOf } from './problem.ts';

export interface JobRef {
  readonly namespace: string;
  readonly job: string;
}

/** Of one call: a deadline other than the usual, and the caller's own end. */
export interface CallOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface SubmitOptions extends CallOptions {
  /** The version that must be there now; 0: none. */
  readonly ifMatch?: number;
}

export interface LogCall {
  readonly stream: LogStream;
  readonly group?: string;
  readonly index?: number;
  readonly allocation?: string;
  readonly task?: string;
  /** Of the first byte wanted. Default 0. */
  readonly offset?: number;
  /** The allocation whose bytes `offset` counts, when the slot may have another one by now. Default: the one that there is. */
  readonly offsetOf?: string;
  /** Wait for the start and end with the allocation; otherwise what is there now. */
  readonly follow: boolean;
  readonly signal?: AbortSignal;
  /**
   * Longer silence, of the answer or within it, counts as a dead connection, though it may be a task with nothing to say or one
   * that has not started. Default 60 s.
   */
  readonly silenceMs?: number;
  /**
   * Asked when a connection broke, or a monitor does not know the allocation yet: whether to go on from the last byte, at another monitor. The time to wait before is
   * spent here. Without it as often in a row as there are monitors.
   */
  readonly goOn?: (trouble: LogTrouble) => Promise<boolean>;
}

export interface LogTrouble {
  readonly error: Error;
  /** The stream had begun: a task with nothing to say looks like a dead connection. */
  readonly wasOpen: boolean;
  /** Bytes came since the last trouble. */
  readonly progressed: boolean;
}

export interface LogPart {
  /** Of the chunk's first byte: larger than the end of the one before when older bytes were given up. */
  readonly offset: number;
  /** Whose it is. */
  readonly allocation: string | null;
  readonly chunk: Uint8Array;
}

export interface EventsCall {
  readonly follow: boolean;
  readonly signal?: AbortSignal;
  /** Longer silence is a dead connection; a monitor sends a beat every 15 s. Default 45 s. */
  readonly idleTimeoutMs?: number;
  /** Told before the first event what the monitor knows at this moment, as a place to go on from (`EventCursor.began`). */
  readonly onBegin?: (place: string) => void;
}

const CALL_TIMEOUT_MS = 15_000;
/** Longer than a monitor waits for a start. */
const LOG_SILENCE_MS = 60_000;
/** A monitor sends a beat more often than this; longer silence is a dead connection. */
const EVENTS_IDLE_MS = 45_000;

/**
 * The monitors' API, typed, over several monitors. A call that may have been received is made again at another monitor
 * only when doing it twice is the same as once: reads, and writes with a key or a state that is set.
 *
 * All methods throw ProblemError for an answer that refuses, and HttpError when no monitor answers.
 */
export class MonitorClient {
  readonly #round: MonitorRound;
  readonly #urls: readonly string[];
  readonly #signal: AbortSignal | undefined;

  /** @param signal ends every call that has none of its own */
  constructor(http: HttpClient, addresses: MonitorAddresses, signal?: AbortSignal) {
    this.#round = new MonitorRound(http, addresses);
    this.#urls = addresses.urls;
    this.#signal = signal;
  }

  /** @param file the job as people write it */
  async submit(file: unknown, options: SubmitOptions = {}): Promise<SubmitAnswer> {
    const { ifMatch, ...call } = options;
    const headers = ifMatch === undefined ? {} : { 'if-match': String(ifMatch) };
    // The same file again changes nothing. A guarded one would refuse its own first delivery.
    const repeatable = ifMatch === undefined;
    return bodyOf(await this.#post('/v1/jobs', { ...call, body: file, headers, repeatable }));
  }

  /** At most `BULK_JOBS_MAX` files, each answered by itself; the same ones again change nothing. */
  async submitMany(files: readonly unknown[], options: CallOptions = {}): Promise<BulkAnswer> {
    return bodyOf(await this.#post('/v1/jobs/bulk', { ...options, body: files }));
  }

  /** @param idempotencyKey makes a second delivery find the first one's run */
  async run(file: unknown, idempotencyKey: string, options: CallOptions = {}): Promise<RunAnswer> {
    const headers = { 'idempotency-key': idempotencyKey };
    return bodyOf(await this.#post('/v1/runs', { ...options, body: file, headers }));
  }

  /** @param namespace all of them without it */
  async jobs(namespace?: string, options: CallOptions = {}): Promise<JobListAnswer> {
    return bodyOf(await this.#get(`/v1/jobs${query({ namespace })}`, options));
  }

  async status(ref: JobRef, options: CallOptions = {}): Promise<JobStatus> {
    return bodyOf(await this.#get(pathOf(ref), options));
  }

  async why(ref: JobRef, options: CallOptions = {}): Promise<Why> {
    return bodyOf(await this.#get(`${pathOf(ref)}/why`, options));
  }

  async stop(ref: JobRef, options: CallOptions = {}): Promise<JobSummary> {
    return bodyOf(await this.#post(`${pathOf(ref)}/stop`, options));
  }

  /** @returns null when it did not end within `waitMs` */
  async exit(ref: JobRef, waitMs: number, options: CallOptions = {}): Promise<RunExit | null> {
    const path = `${pathOf(ref)}/exit${query({ waitMs })}`;
    const answer = await this.#get(path, { timeoutMs: waitMs + CALL_TIMEOUT_MS, ...options });
    return answer.status === 204 ? null : bodyOf(answer);
  }

  async allocations(
    which: { readonly namespace?: string; readonly job?: string },
    options: CallOptions = {},
  ): Promise<AllocationListAnswer> {
    const { namespace, job } = which;
    return bodyOf(await this.#get(`/v1/allocations${query({ namespace, job })}`, options));
  }

  /** Where a talk can be opened. */
  get addresses(): readonly string[] {
    return this.#urls;
  }

  /** Runs a command inside an allocation; the same command id again runs nothing more. */
  async exec(allocation: string, request: ExecRequest, options: CallOptions = {}): Promise<CommandStatus> {
    const path = `/v1/allocations/${encodeURIComponent(allocation)}/exec`;
    return bodyOf(await this.#post(path, { ...options, body: request }));
  }

  async hosts(options: CallOptions = {}): Promise<HostListAnswer> {
    return bodyOf(await this.#get('/v1/hosts', options));
  }

  /** The cell as a whole: its store, and what its hosts share. */
  async cell(options: CallOptions = {}): Promise<CellStatus> {
    return bodyOf(await this.#get('/v1/cell', options));
  }

  /** Says what there is of something that hosts share. */
  async setShared(
    name: string,
    body: SharedResourceRequest,
    options: CallOptions = {},
  ): Promise<SharedStatus> {
    return bodyOf(
      await this.#call({ ...options, method: 'PUT', path: sharedPath(name), body, repeatable: true }),
    );
  }

  async removeShared(name: string, options: CallOptions = {}): Promise<void> {
    await this.#call({ ...options, method: 'DELETE', path: sharedPath(name), repeatable: true });
  }

  /** What runs uses now, by host. @param which all of it without a namespace */
  async usage(
    which: { readonly namespace?: string; readonly job?: string },
    options: CallOptions = {},
  ): Promise<CellUsage> {
    const { namespace, job } = which;
    return bodyOf(await this.#get(`/v1/usage${query({ namespace, job })}`, options));
  }

  async setEligibility(
    host: string,
    request: EligibilityRequest,
    options: CallOptions = {},
  ): Promise<HostStatus> {
    const path = `/v1/hosts/${encodeURIComponent(host)}/eligibility`;
    return bodyOf(await this.#post(path, { ...options, body: request }));
  }

  async schedulers(options: CallOptions = {}): Promise<SchedulerListAnswer> {
    return bodyOf(await this.#get('/v1/schedulers', options));
  }

  async version(options: CallOptions = {}): Promise<VersionAnswer> {
    return bodyOf(await this.#get('/version', options));
  }

  /**
   * The output of one task of one allocation, each byte once, going on at another monitor from the last byte when one is cut
   * off. Offsets are the allocation's own, so what is asked for by its slot stays with the one that answered first.
   */
  async *logs(ref: JobRef, call: LogCall): AsyncGenerator<LogPart> {
    const goOn = call.goOn ?? asOftenAs(this.#urls.length);
    const signal = call.signal ?? this.#signal;
    const silenceMs = call.silenceMs ?? LOG_SILENCE_MS;
    let offset = call.offset ?? 0;
    let allocation = call.allocation ?? null;
    let progressed = false;
    while (signal?.aborted !== true) {
      let from = '';
      try {
        const stream = await this.#round.stream({
          ...GET,
          path: `${pathOf(ref)}/logs${logQuery(call, allocation, offset)}`,
          timeoutMs: silenceMs,
          idleTimeoutMs: silenceMs,
          signal,
        });
        from = stream.from;
        // Not started yet: the monitor has waited as long as it does, and asks to be asked again.
        if (stream.status === 204 && call.follow) continue;
        offset = Number(stream.headers[LOG_OFFSET_HEADER] ?? offset);
        allocation = stream.headers[LOG_ALLOCATION_HEADER] ?? allocation;
        for await (const chunk of stream.chunks) {
          progressed = true;
          yield { offset, allocation, chunk };
          offset += chunk.length;
        }
        return;
      } catch (error) {
        const isLate = error instanceof ProblemError && error.problem.code === 'no-such-allocation';
        // We learnt of it from a monitor: one that does not know it yet has only just begun, or lags behind.
        const isNotKnownYet = isLate && call.follow && call.allocation === undefined && allocation !== null;
        if (!(error instanceof HttpError) && !isNotKnownYet) throw error;
        if (isAborted(signal)) return;
        this.#round.moveOnFrom(from);
        if (!(await goOn({ error, wasOpen: from !== '', progressed }))) throw error;
        progressed = false;
      }
    }
  }

  /**
   * Events after `since` from one monitor. Ends, or throws HttpError, when that monitor does: asked again with the last
   * id, the rest comes from another one.
   */
  async *events(since: string, call: EventsCall): AsyncGenerator<CellEvent> {
    const signal = call.signal ?? this.#signal;
    const stream = await this.#round.stream({
      ...GET,
      path: `/v1/events${query({ since, follow: call.follow })}`,
      headers: { accept: 'application/x-ndjson' },
      timeoutMs: CALL_TIMEOUT_MS,
      idleTimeoutMs: call.idleTimeoutMs ?? EVENTS_IDLE_MS,
      signal,
    });
    const place = stream.headers[REVISION_HEADER];
    if (place !== undefined) call.onBegin?.(place);
    try {
      for await (const event of ndjson(stream.chunks)) yield event as CellEvent;
    } catch (error) {
      this.#round.moveOnFrom(stream.from);
      throw error;
    }
  }

  #get(path: string, options: CallOptions): Promise<HttpAnswer> {
    return this.#call({ ...GET, ...options, path });
  }

  #post(
    path: string,
    options: CallOptions & Partial<Pick<MonitorCall, 'body' | 'headers' | 'repeatable'>>,
  ): Promise<HttpAnswer> {
    return this.#call({ repeatable: true, ...options, method: 'POST', path });
  }

  #call(call: Omit<MonitorCall, 'timeoutMs'> & CallOptions): Promise<HttpAnswer> {
    return this.#round.call({ timeoutMs: CALL_TIMEOUT_MS, signal: this.#signal, ...call });
  }
}

const GET = { method: 'GET', repeatable: true } as const;

function asOftenAs(failuresMax: number): (trouble: LogTrouble) => Promise<boolean> {
  let failures = 0;
  return ({ progressed }) => {
    failures = progressed ? 1 : failures + 1;
    return Promise.resolve(failures <= failuresMax);
  };
}

/** Asked anew after each wait: it may have become true in the meantime. */
function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

function pathOf({ namespace, job }: JobRef): string {
  return `/v1/jobs/${encodeURIComponent(namespace)}/${encodeURIComponent(job)}`;
}

function sharedPath(name: string): string {
  return `/v1/shared/${encodeURIComponent(name)}`;
}

function logQuery(call: LogCall, allocation: string | null, offset: number): string {
  const { stream, group, index, task, offsetOf, follow } = call;
  const which = allocation === null ? { offsetOf } : { allocation };
  return query({ stream, group, index, task, ...which, offset, follow });
}

function query(values: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const given = Object.entries(values).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}
