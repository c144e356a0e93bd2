import type { HttpClient } from '../ports/http.ts';
import type { SchedulerPlan, SchedulerPlanRequest } from '../wire/plan/plan.ts';
import type { SchedulerEvent, SchedulerStatus, Why } from '../wire/api/scheduler-api.ts';
import { ndjson } from '../core/json/ndjson.ts';
import { bodyOf, problemErrorOf, problemOf } from './clients.ts';

export interface SchedulerClientOptions {
  /** For one question. */
  readonly timeoutMs: number;
  /** Silence after which an event stream counts as dead; a scheduler may have nothing to do for long. */
  readonly eventsIdleMs: number;
}

const DEFAULTS: SchedulerClientOptions = { timeoutMs: 5_000, eventsIdleMs: 24 * 3600 * 1000 };

/** A scheduler's API. `address` is the scheduler's, as registered in `roles/scheduler/`. */
export class SchedulerClient {
  readonly #http: HttpClient;
  readonly #options: SchedulerClientOptions;

  constructor(http: HttpClient, options: Partial<SchedulerClientOptions> = {}) {
    this.#http = http;
    this.#options = { ...DEFAULTS, ...options };
  }

  /** @throws HttpError, ProblemError */
  async status(address: string): Promise<SchedulerStatus> {
    const { timeoutMs } = this.#options;
    return bodyOf<SchedulerStatus>(
      await this.#http.call({ method: 'GET', url: `${address}/v1/status`, to: 'scheduler', timeoutMs }),
    );
  }

  /** @returns null when the scheduler does not work on the job. @throws HttpError, ProblemError */
  async why(address: string, namespace: string, job: string): Promise<Why | null> {
    const { timeoutMs } = this.#options;
    const url = `${address}/v1/jobs/${namespace}/${job}/why`;
    const answer = await this.#http.call({ method: 'GET', url, to: 'scheduler', timeoutMs });
    if (answer.status === 404 && problemOf(answer).code === 'not-owned') return null;
    return bodyOf<Why>(answer);
  }

  /** What it would decide. @throws HttpError, ProblemError */
  async plan(
    address: string,
    request: SchedulerPlanRequest,
    timeoutMs = this.#options.timeoutMs,
  ): Promise<SchedulerPlan> {
    const url = `${address}/v1/plan`;
    return bodyOf<SchedulerPlan>(
      await this.#http.call({ method: 'POST', url, to: 'scheduler', timeoutMs, body: request }),
    );
  }

  /** The events that it kept, then new ones. @throws HttpError, ProblemError; NdjsonError on the way */
  async events(address: string, signal?: AbortSignal): Promise<AsyncIterable<SchedulerEvent>> {
    const answer = await this.#http.stream({
      method: 'GET',
      url: `${address}/v1/events`,
      to: 'scheduler',
      timeoutMs: this.#options.timeoutMs,
      idleTimeoutMs: this.#options.eventsIdleMs,
      ...(signal === undefined ? {} : { signal }),
    });
    if (answer.status !== 200) throw problemErrorOf({ ...answer, body: undefined });
    return ndjson(answer.chunks) as AsyncIterable<SchedulerEvent>;
  }
}
