import type { Clock } from '../src/ports/clock.ts';
import { Broadcast } from '../src/runtime/broadcast.ts';
import type { CellEvent } from '../src/wire/monitor-api.ts';
import { every } from './every.ts';

/** Events held for those who come later; some megabytes, and minutes of a busy cell. */
export const EVENTS_MAX = 10_000;
/** Events that one slow reader may be behind before it gets a gap instead. */
export const EVENT_QUEUE_MAX = 2_000;
/** So that neither end, nor anything between, takes a quiet stream for a dead one. */
export const EVENT_BEAT_MS = 15_000;

/** `null` is a heartbeat. */
type Item = CellEvent | null;

/** An event that is put into words when somebody reads it: most of them nobody ever does. */
export interface EventToCome {
  readonly id: string;
  /** null: nothing worth telling. */
  tell(): CellEvent | null;
}

/** What happened in the cell, as far back as it is held. */
export class EventLog {
  readonly #source: string;
  readonly #clock: Clock;
  readonly #live = new Broadcast<Item>(EVENT_QUEUE_MAX);
  readonly #stopBeat: () => void;
  /** Oldest first; cut to `EVENTS_MAX` now and then, not at every event. */
  #held: (CellEvent | EventToCome)[] = [];
  /** The last event that is no longer held: what a gap names. */
  #floor = '0.0';
  #closed = false;

  /** @param source who speaks in gap events: this monitor */
  constructor(source: string, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
    this.#stopBeat = every(clock, EVENT_BEAT_MS, () => this.#live.send(null));
  }

  get readers(): number {
    return this.#live.readers;
  }

  add(event: CellEvent | EventToCome): void {
    this.#held.push(event);
    if (this.#held.length >= 2 * EVENTS_MAX) this.#cut();
    if (this.#live.readers === 0) return;
    const told = inWords(event);
    if (told !== null) this.#live.send(told);
  }

  /** What came before is not known to this log: it starts, or the store's watch was interrupted. */
  missed(revision: number, detail: string, silent: boolean): void {
    this.#floor = `${String(revision)}.0`;
    if (!silent) this.add(this.#gap(detail));
  }

  /**
   * Events after `since`, then, when `follow`, all that come; `null` is a heartbeat.
   * @param since an event id, exclusive; `0` for all that is held; absent or `now` for none of it. An id that is no longer
   *   held, or never was, begins with a gap and what there is; one that is not known yet with a gap, since this monitor
   *   may tell again what another one has told.
   */
  async *read(since: string | undefined, follow: boolean, signal: AbortSignal): AsyncGenerator<Item> {
    let first = this.#after(since);
    if (!follow) {
      yield* first;
      return;
    }
    for (;;) {
      yield* this.#live.subscribe(signal, first);
      if (signal.aborted || this.#closed) return;
      first = [this.#gap('this reader was too slow; events were left out')];
    }
  }

  close(): void {
    this.#closed = true;
    this.#stopBeat();
    this.#live.close();
  }

  #after(since: string | undefined): readonly CellEvent[] {
    return this.#heldAfter(since).flatMap((event) => inWords(event) ?? []);
  }

  #heldAfter(since: string | undefined): readonly (CellEvent | EventToCome)[] {
    if (since === undefined || since === 'now') return [];
    const held = this.#held.slice(-EVENTS_MAX);
    const position = held.findLastIndex((event) => event.id === since);
    if (position >= 0) return held.slice(position + 1);
    const wanted = placeOf(since);
    // Of the floor's own revision nobody knows how much was told elsewhere.
    const [floor] = placeOf(this.#floor) ?? [0];
    if (wanted === null || (floor > 0 && wanted[0] <= floor))
      return [this.#gap('older events are no longer held'), ...held];
    // An id that made no event here (another kind of change): everything of the store after it, and whatever else came.
    const next = held.findIndex((event) => {
      const place = placeOf(event.id);
      return place !== null && before(wanted, place);
    });
    return next < 0
      ? [this.#gap('this monitor has not come so far yet; events may come twice')]
      : held.slice(next);
  }

  #cut(): void {
    const gone = this.#held.splice(0, this.#held.length - EVENTS_MAX);
    const last = gone.findLast((event) => placeOf(event.id) !== null);
    if (last !== undefined) this.#floor = last.id;
  }

  #gap(detail: string): CellEvent {
    return { id: this.#floor, atMs: this.#clock.nowMs(), kind: 'gap', source: this.#source, detail };
  }
}

function inWords(event: CellEvent | EventToCome): CellEvent | null {
  return 'tell' in event ? event.tell() : event;
}

type Place = readonly [revision: number, ordinal: number];

/** The place of a store event; null for what a role said, which has no place among revisions. */
function placeOf(id: string): Place | null {
  const match = /^(\d{1,15})(?:\.(\d{1,9}))?$/.exec(id);
  return match === null ? null : [Number(match[1]), Number(match[2] ?? 0)];
}

function before(a: Place, b: Place): boolean {
  return a[0] === b[0] ? a[1] < b[1] : a[0] < b[0];
}
