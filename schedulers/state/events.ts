import type { Clock } from '../../src/ports/clock.ts';
import { Broadcast } from '../../src/runtime/stream/stream.ts';
import type { SchedulerEvent } from '../../src/wire/api/scheduler-api.ts';
import { SEEN_IN_STORE } from '../../src/wire/api/scheduler-api.ts';

/** Events kept for readers that come later: a few minutes of a busy scheduler; monitors keep the long history. */
const EVENTS_KEPT_MAX = 2_048;
/** How far a reader may fall behind before its stream is ended. */
const READER_QUEUE_MAX = 4_096;

/** What a scheduler did, for the event stream. Old events are dropped, streams of slow readers are ended. */
export class SchedulerEvents {
  readonly #scheduler: string;
  readonly #clock: Clock;
  readonly #life: number;
  readonly #all = new Broadcast<SchedulerEvent>(READER_QUEUE_MAX);
  /** For monitors, which watch the store: only what the store does not show. */
  readonly #unseen = new Broadcast<SchedulerEvent>(READER_QUEUE_MAX);
  #kept: SchedulerEvent[] = [];
  #seq = 0;

  constructor(scheduler: string, clock: Clock) {
    this.#scheduler = scheduler;
    this.#clock = clock;
    this.#life = Math.floor(clock.nowMs());
  }

  publish(event: Omit<SchedulerEvent, 'life' | 'seq' | 'atMs' | 'scheduler'>): void {
    this.#seq += 1;
    const whole = {
      life: this.#life,
      seq: this.#seq,
      atMs: Math.floor(this.#clock.nowMs()),
      scheduler: this.#scheduler,
      ...event,
    };
    this.#kept.push(whole);
    // Twice the bound before half goes: moving the list at each event would cost more than keeping it.
    if (this.#kept.length >= 2 * EVENTS_KEPT_MAX) this.#kept = this.#kept.slice(-EVENTS_KEPT_MAX);
    this.#all.send(whole);
    if (!SEEN_IN_STORE.has(whole.kind)) this.#unseen.send(whole);
  }

  /**
   * The kept events, then new ones as they happen, until the signal is aborted.
   * @param unseen only those that the store does not show
   */
  subscribe(signal: AbortSignal, unseen = false): AsyncIterable<SchedulerEvent> {
    const kept = this.#kept.slice(-EVENTS_KEPT_MAX);
    if (!unseen) return this.#all.subscribe(signal, kept);
    return this.#unseen.subscribe(
      signal,
      kept.filter(({ kind }) => !SEEN_IN_STORE.has(kind)),
    );
  }

  close(): void {
    this.#all.close();
    this.#unseen.close();
  }
}
