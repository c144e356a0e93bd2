import { MonitorFailover } from '../../src/clients/monitor-failover.ts';
import { readWantedNames } from '../../src/clients/monitor-streams.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { HttpClient } from '../../src/ports/http.ts';
import { HttpError } from '../../src/ports/http.ts';
import type { Random } from '../../src/ports/random.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import { NdjsonError } from '../../src/core/json/ndjson.ts';
import { Backoff, RECONNECT } from '../../src/runtime/wait/backoff.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import { Waker } from '../../src/runtime/wait/waker.ts';
import { readNameFrame } from '../../src/wire/api/names-frames.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { KnownNames } from './names.ts';

export interface NameFollowerDeps {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Base URLs; asked again before each try. */
  monitors(): readonly string[];
}

/** A stream is opened anew for names that it lacks; the more often that was in the last while, the later. */
const [RENEWALS_MS, RENEWAL_GAP_MS] = [10_000, 20];
/** Until the store has told of monitors. */
const NO_MONITOR_MS = 200;

/** One stream to one monitor, opened anew for names that it lacks. None while nothing is wanted. */
interface Stream {
  readonly names: ReadonlySet<string>;
  readonly stop: AbortController;
  isSynced: boolean;
}

/** Has what is wanted told by a monitor: by another one when that dies. */
export class NameFollower {
  readonly #deps: NameFollowerDeps;
  readonly #names: KnownNames;
  readonly #wanted = new Waker();
  readonly #closing = new AbortController();
  readonly #ended: Promise<void>;
  readonly #renewedAtMs: number[] = [];
  #monitors: { readonly urls: readonly string[]; readonly failover: MonitorFailover } | null = null;
  #stream: Stream | null = null;

  constructor(deps: NameFollowerDeps, names: KnownNames) {
    this.#deps = deps;
    this.#names = names;
    names.onWanted = () => this.#renew();
    this.#ended = this.#follow();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#stream?.stop.abort();
    await this.#ended;
  }

  /** One that has not told yet what it was opened for is not cut. */
  #renew(): void {
    const stream = this.#stream;
    if (stream === null) this.#wanted.wake();
    else if (stream.isSynced && this.#names.wanted().some((name) => !stream.names.has(name)))
      stream.stop.abort();
  }

  async #follow(): Promise<void> {
    const { clock, random } = this.#deps;
    const { signal } = this.#closing;
    const backoff = new Backoff(RECONNECT, random);
    while (!signal.aborted) {
      const names = this.#names.wanted();
      if (names.length === 0) {
        await this.#wanted.wait(signal);
        continue;
      }
      const stream = { names: new Set(names), stop: new AbortController(), isSynced: false };
      const failover = this.#failover();
      if (failover !== null) await this.#readSafely(failover, stream, () => backoff.reset());
      if (stream.stop.signal.aborted) await sleep(clock, this.#gapMs(), signal);
      else await sleep(clock, failover === null ? NO_MONITOR_MS : backoff.nextMs(), signal);
    }
  }

  /** It goes on with the one that answered last, for as long as there are the same ones. */
  #failover(): MonitorFailover | null {
    const urls = [...this.#deps.monitors()].sort();
    if (urls.length === 0) return null;
    if (this.#monitors?.urls.join(' ') === urls.join(' ')) return this.#monitors.failover;
    // Each host begins at one of its own.
    const first = this.#deps.random.below(urls.length);
    const turned = [...urls.slice(first), ...urls.slice(0, first)];
    const failover = new MonitorFailover(this.#deps.http, { urls: turned, from: 'the store' });
    this.#monitors = { urls, failover };
    return failover;
  }

  #gapMs(): number {
    const nowMs = this.#deps.clock.monotonicMs();
    while ((this.#renewedAtMs[0] ?? nowMs) < nowMs - RENEWALS_MS) this.#renewedAtMs.shift();
    return (this.#renewedAtMs.push(nowMs) - 1) * RENEWAL_GAP_MS;
  }

  async #readSafely(failover: MonitorFailover, stream: Stream, onSynced: () => void): Promise<void> {
    this.#stream = stream;
    try {
      await this.#read(failover, stream, onSynced);
    } catch (error) {
      const isExpected =
        error instanceof HttpError || error instanceof NdjsonError || error instanceof ProblemError;
      if (!isExpected) throw error;
      if (!stream.stop.signal.aborted)
        this.#deps.log.debug({ error: error.message }, 'a stream of names ended');
    } finally {
      this.#stream = null;
    }
  }

  async #read(failover: MonitorFailover, stream: Stream, onSynced: () => void): Promise<void> {
    for await (const frame of readWantedNames(
      failover,
      [...stream.names],
      readNameFrame,
      stream.stop.signal,
    )) {
      if (frame.kind === 'name') this.#names.tell(frame);
      // One that does not know all hosts yet says nothing by its silence.
      else if (frame.synced) {
        if (!stream.isSynced) onSynced();
        stream.isSynced = true;
        this.#names.heard();
        this.#renew();
      }
    }
  }
}
