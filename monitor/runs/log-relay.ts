import type { HostClient, HostLog } from '../../src/clients/host-client.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { HttpError } from '../../src/ports/http.ts';
import type { Random } from '../../src/ports/random.ts';
import { Backoff } from '../../src/runtime/wait/backoff.ts';
import type { CellView } from '../../src/runtime/reports/cell-view.ts';
import { sleep, withDeadline } from '../../src/runtime/wait/wait.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { CellCopy } from '../view/view.ts';
import type { JobChanges } from '../jobs/job-changes.ts';
import type { LogQuery, LogTarget } from './log-target.ts';
import { logTarget } from './log-target.ts';
import { refuse } from '../refusals.ts';

/** A follower of an allocation that has not started is told to ask again after this: proxies cut silent connections. */
export const LOG_START_WAIT_MS = 25_000;
const RECONNECT = { firstMs: 50, maxMs: 2_000 };

export interface LogRelayDeps {
  readonly copy: CellCopy;
  readonly view: CellView;
  readonly jobChanges: JobChanges;
  readonly hosts: HostClient;
  readonly clock: Clock;
  readonly random: Random;
  /** Has the job ended? Then what has not started never will. */
  hasEnded(jobKey: string): boolean;
}

export interface OpenLog {
  /** null: the job ended without ever starting; there is no output. */
  readonly target: LogTarget | null;
  readonly offset: number;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/**
 * Relays the output of one task from its host. The host counts bytes: after a cut, of this relay from its host or of a client
 * from this relay, the stream resumes from the offset that was reached, here or at another monitor. An end in order says that
 * this is all, from the host and from here.
 */
export class LogRelay {
  readonly #deps: LogRelayDeps;

  constructor(deps: LogRelayDeps) {
    this.#deps = deps;
  }

  /**
   * With `follow` waits for the start, woken by changes of the job.
   * @returns null when it has not started within `LOG_START_WAIT_MS`: ask again
   * @throws ProblemError 404 without `follow` when it has not started; 410 when the host no longer has the record
   */
  async open(query: LogQuery, caller: AbortSignal): Promise<OpenLog | null> {
    const deadline = withDeadline(this.#deps.clock, LOG_START_WAIT_MS, caller);
    const backoff = new Backoff(RECONNECT, this.#deps.random);
    try {
      while (!deadline.signal.aborted) {
        const change = this.#deps.jobChanges.next(query.jobKey, deadline.signal);
        const target = this.#targetOf(query);
        if (target === null && this.#deps.hasEnded(query.jobKey))
          return { target: null, offset: query.offset, chunks: nothing() };
        const log = target === null ? null : await this.#first(target, query, caller);
        if (target !== null && log !== null && log !== 'unreachable')
          return { target, offset: log.offset, chunks: this.#relay(log, target, query, caller) };
        if (log === 'unreachable')
          await Promise.race([change, sleep(this.#deps.clock, backoff.nextMs(), deadline.signal)]);
        else await change;
      }
      return null;
    } finally {
      deadline.done();
    }
  }

  #targetOf(query: LogQuery): LogTarget | null {
    const target = logTarget(this.#deps.copy, this.#deps.view, query);
    if (target !== null) return target;
    if (query.allocation !== null)
      throw refuse(404, 'no-such-allocation', `${query.jobKey} has no allocation ${query.allocation}`);
    if (!query.follow) throw notStarted(query);
    return null;
  }

  /** @returns null while the host has not been given the allocation */
  async #first(
    target: LogTarget,
    query: LogQuery,
    caller: AbortSignal,
  ): Promise<HostLog | null | 'unreachable'> {
    try {
      const isOther = query.offsetOf !== null && query.offsetOf !== target.allocation;
      return await this.#fromHost(target, query, isOther ? 0 : query.offset, caller);
    } catch (error) {
      if (error instanceof HttpError && !caller.aborted) {
        if (query.follow && !target.ended) return 'unreachable';
        throw refuse(503, 'host-unreachable', `${target.host} does not answer`);
      }
      if (!isAbsent(error)) throw error;
      if (target.ended || this.#deps.view.get(target.host, target.allocation)?.released === true)
        throw gone(target);
      if (!query.follow) throw notStarted(query);
      return null;
    }
  }

  async *#relay(
    first: HostLog,
    target: LogTarget,
    query: LogQuery,
    caller: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    const backoff = new Backoff(RECONNECT, this.#deps.random);
    let log = first;
    let offset = first.offset;
    for (;;) {
      const whole = yield* passOn(log.chunks, (bytes) => {
        offset += bytes;
        backoff.reset();
      });
      if (whole) return;
      await sleep(this.#deps.clock, backoff.nextMs(), caller);
      const next = await this.#again(target, query, offset, backoff, caller);
      if (next === null) throw new HttpError('this monitor stops, or its caller is gone', { sent: true });
      // The head of this answer is sent; only a cut makes the client ask anew and get the true offset.
      if (next.offset !== offset) throw new HttpError('the host gave up older bytes', { sent: true });
      log = next;
    }
  }

  async #again(
    target: LogTarget,
    query: LogQuery,
    offset: number,
    backoff: Backoff,
    caller: AbortSignal,
  ): Promise<HostLog | null> {
    while (!caller.aborted) {
      try {
        return await this.#fromHost(target, query, offset, caller);
      } catch (error) {
        if (!(error instanceof HttpError)) throw error;
        // Its outcome was written while its host is away: the rest of the output is lost.
        if (this.#isFinished(target, query.jobKey)) throw error;
      }
      await sleep(this.#deps.clock, backoff.nextMs(), caller);
    }
    return null;
  }

  #fromHost(target: LogTarget, query: LogQuery, offset: number, caller: AbortSignal): Promise<HostLog> {
    const host = this.#deps.copy.hosts.get(target.host)?.value;
    if (host === undefined) throw gone(target);
    const { task } = target;
    const { stream, follow, by } = query;
    const request = { task, stream, offset, follow, signal: caller };
    return this.#deps.hosts.logs(host.address, target.allocation, request, { by, host: target.host });
  }

  #isFinished(target: LogTarget, jobKey: string): boolean {
    return this.#deps.copy.outcomesByJob.of(jobKey).has(target.allocation);
  }
}

/** @returns whether the source ended in order; false: it was cut */
async function* passOn(
  chunks: AsyncIterable<Uint8Array>,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Uint8Array, boolean> {
  const source = chunks[Symbol.asyncIterator]();
  try {
    for (;;) {
      let next: IteratorResult<Uint8Array>;
      try {
        next = await source.next();
      } catch (error) {
        if (error instanceof HttpError) return false;
        throw error;
      }
      if (next.done === true) return true;
      onBytes(next.value.length);
      yield next.value;
    }
  } finally {
    await source.return?.();
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {
  // No output at all.
}

function isAbsent(error: unknown): boolean {
  return error instanceof ProblemError && error.problem.status === 404;
}

function notStarted(query: LogQuery): ProblemError {
  return refuse(404, 'not-started', `${query.jobKey} has not started`, {
    hint: 'ask with follow=true to wait for it',
  });
}

function gone(target: LogTarget): ProblemError {
  return refuse(410, 'log-gone', `${target.host} no longer has the output of ${target.allocation}`);
}
