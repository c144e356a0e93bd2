import type { Clock } from '../../src/ports/clock.ts';
import type { HttpClient } from '../../src/ports/http.ts';
import type { Random } from '../../src/ports/random.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import { Backoff, RECONNECT } from '../../src/runtime/wait/backoff.ts';
import { NdjsonParser } from '../../src/core/json/ndjson.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import type { SchedulerEvent } from '../../src/wire/api/scheduler-api.ts';
import { SCHEDULER_EVENT_KINDS } from '../../src/wire/api/scheduler-api.ts';

export interface SchedulerEventsDeps {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  onEvent(event: SchedulerEvent): void;
}

const CONNECT_TIMEOUT_MS = 3_000;
/** A scheduler may have no events for long. */
const IDLE_TIMEOUT_MS = 3_600_000;
/** An event is a sentence with some names. */
const LINE_LENGTH_MAX = 64 * 1024;

/** More schedulers than live at once; of those that left, the oldest are dropped. */
const SEEN_MAX = 256;

interface Seen {
  readonly life: number;
  readonly seq: number;
}

interface Watching {
  readonly address: string;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/** Follows the event stream of each living scheduler, and passes on every event once. */
export class SchedulerEvents {
  readonly #deps: SchedulerEventsDeps;
  readonly #watching = new Map<string, Watching>();
  /** By scheduler, also of those that left: one that comes back sends again what it kept. */
  readonly #seen = new Map<string, Seen>();
  #closed = false;

  constructor(deps: SchedulerEventsDeps) {
    this.#deps = deps;
  }

  /** @param schedulers id to address of those that live */
  refresh(schedulers: ReadonlyMap<string, string>): void {
    if (this.#closed) return;
    for (const [id, watching] of this.#watching) {
      if (schedulers.get(id) === watching.address) continue;
      watching.stop.abort();
      this.#watching.delete(id);
    }
    for (const [id, address] of schedulers) {
      if (address === '' || this.#watching.has(id)) continue;
      const stop = new AbortController();
      this.#watching.set(id, { address, stop, ended: this.#follow(id, address, stop.signal) });
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    const all = [...this.#watching.values()];
    for (const watching of all) watching.stop.abort();
    await Promise.all(all.map((watching) => watching.ended));
  }

  async #follow(id: string, address: string, signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(RECONNECT, this.#deps.random);
    while (!signal.aborted) {
      try {
        const stream = await this.#deps.http.stream({
          method: 'GET',
          url: `${address}/v1/events?unseen=true`,
          to: 'scheduler',
          timeoutMs: CONNECT_TIMEOUT_MS,
          idleTimeoutMs: IDLE_TIMEOUT_MS,
          signal,
        });
        const parser = new NdjsonParser(LINE_LENGTH_MAX);
        if (stream.status === 200)
          for await (const chunk of stream.chunks) {
            if (signal.aborted) return;
            for (const value of parser.push(chunk)) {
              backoff.reset();
              if (isEvent(value) && this.#isNew(value)) this.#deps.onEvent(value);
            }
          }
      } catch (error) {
        if (!signal.aborted) this.#deps.log.debug({ scheduler: id, error }, 'event stream ended');
      }
      await sleep(this.#deps.clock, backoff.nextMs(), signal);
    }
  }

  #isNew({ scheduler: id, life, seq }: SchedulerEvent): boolean {
    const last = this.#seen.get(id);
    if (last?.life === life && seq <= last.seq) return false;
    this.#seen.delete(id);
    this.#seen.set(id, { life, seq });
    for (const [oldest] of this.#seen) {
      if (this.#seen.size <= SEEN_MAX) break;
      this.#seen.delete(oldest);
    }
    return true;
  }
}

function isEvent(value: unknown): value is SchedulerEvent {
  if (typeof value !== 'object' || value === null) return false;
  const event = value as Partial<Record<keyof SchedulerEvent, unknown>>;
  return (
    typeof event.life === 'number' &&
    typeof event.seq === 'number' &&
    typeof event.atMs === 'number' &&
    typeof event.detail === 'string' &&
    SCHEDULER_EVENT_KINDS.some((kind) => kind === event.kind) &&
    [event.scheduler, event.namespace, event.job].every((text) => typeof text === 'string')
  );
}
