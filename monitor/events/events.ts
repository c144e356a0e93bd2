/**
 * What happened in the cell, as events.
 *
 * - `events.ts`: holds events, and streams them to readers
 * - `cell-events.ts`: the event of a change in the store, of a host's report, or of a scheduler's message
 * - `host-events.ts`: which reports and silences of hosts are events
 * - `scheduler-events.ts`: follows the schedulers' own streams
 * - `missed-events.ts`: sums up what a slow reader misses
 */
import type { Clock } from '../../src/ports/clock.ts';
import { Broadcast } from '../../src/runtime/stream/stream.ts';
import type { EventPosition } from '../../src/wire/api/event-position.ts';
import { endOfRevision, eventPositionOf, isBefore } from '../../src/wire/api/event-position.ts';
import type { CellEvent } from '../../src/wire/api/monitor-api.ts';
import { every } from '../../src/runtime/wait/wait.ts';
import { MissedEvents } from './missed-events.ts';

/** Events held for readers that come later; some megabytes, and minutes of a busy cell. */
export const EVENTS_MAX = 10_000;
/** Events that one slow reader may be behind before it gets their number by kind instead (S3.22). */
export const EVENT_QUEUE_MAX = 2_000;
/** Keeps clients and proxies from taking a quiet stream for a dead one. */
export const EVENT_BEAT_MS = 15_000;

/** `null` is a heartbeat. */
type Item = CellEvent | null;

/** An event that is built when it is read: most never are. */
export interface LazyEvent {
  readonly id: string;
  /** null: the change is no event. */
  event(): CellEvent | null;
}

/**
 * Events as far back as they are held. Ids of the store's events (`<revision>.<ordinal>`) are the same at every monitor, so a
 * follower resumes after the last of them; see docs/decisions/events-and-offsets.md.
 */
export class EventLog {
  readonly #source: string;
  readonly #clock: Clock;
  readonly #revision: () => number;
  readonly #live = new Broadcast<Item>(EVENT_QUEUE_MAX);
  readonly #stopBeat: () => void;
  /** Oldest first; cut to `EVENTS_MAX` now and then, not at every event. */
  #held: (CellEvent | LazyEvent)[] = [];
  /** Up to here events may be missing. It only grows. */
  #floor: EventPosition = { revision: 0, ordinal: 0 };

  /**
   * @param source of gap events: this monitor's id
   * @param revision up to which all changes of the store were added
   */
  constructor(source: string, clock: Clock, revision: () => number) {
    this.#source = source;
    this.#clock = clock;
    this.#revision = revision;
    this.#stopBeat = every(clock, EVENT_BEAT_MS, () => this.#live.send(null));
  }

  get readers(): number {
    return this.#live.readers;
  }

  add(event: CellEvent | LazyEvent): void {
    this.#held.push(event);
    if (this.#held.length >= 2 * EVENTS_MAX) this.#cut();
    if (this.#live.readers === 0) return;
    const ready = built(event);
    if (ready !== null) this.#live.send(ready);
  }

  /**
   * Changes before the revision are missing: the store's watch was interrupted, or it starts. At a start only present readers
   * get a gap; later readers begin with one anyway.
   */
  missed(revision: number, detail: string, starts: boolean): void {
    this.#raiseFloor(endOfRevision(revision));
    if (!starts || this.#live.readers > 0) this.add(this.#gap(detail));
  }

  /**
   * Events after `since`, then, when `follow`, all that come from this call on, however late they are read; `null` is a
   * heartbeat.
   * @param since an event id, exclusive, or a revision, of which all is known; `0` for all that is held; absent or `now` for
   *   none of it. An id that is no longer held, or never was, begins with a gap and what there is; one beyond this monitor's
   *   revision with a gap, since this monitor may repeat what another one sent.
   * @param sees what the reader may see
   */
  read(
    since: string | undefined,
    follow: boolean,
    signal: AbortSignal,
    sees: (event: CellEvent) => boolean = () => true,
  ): AsyncIterable<Item> {
    const first = this.#after(since);
    const items = follow
      ? this.#live.subscribe(signal, first, () => new MissedEvents(sees, (missed) => this.#missed(missed)))
      : first;
    return seen(items, sees);
  }

  close(): void {
    this.#stopBeat();
    this.#live.close();
  }

  #after(since: string | undefined): readonly CellEvent[] {
    return this.#heldAfter(since).flatMap((event) => built(event) ?? []);
  }

  #heldAfter(since: string | undefined): readonly (CellEvent | LazyEvent)[] {
    if (since === undefined || since === 'now') return [];
    const held = this.#held;
    const wanted = eventPositionOf(since);
    // Also where this id is held: events before it may be missing here.
    if (wanted !== null && isBefore(wanted, this.#floor)) return this.#allHeld();
    const position = held.findLastIndex((event) => event.id === since);
    if (position >= 0) return held.slice(position + 1);
    if (wanted === null) return this.#allHeld();
    // An id without an event (another kind of change): everything from the next event of the store on.
    const next = held.findIndex((event) => {
      const place = eventPositionOf(event.id);
      return place !== null && isBefore(wanted, place);
    });
    if (next >= 0) return held.slice(next);
    return wanted.revision <= this.#revision()
      ? []
      : [this.#gap('this monitor has not come so far yet; events may come twice')];
  }

  #allHeld(): readonly (CellEvent | LazyEvent)[] {
    return [this.#gap('older events are no longer held'), ...this.#held.slice(-EVENTS_MAX)];
  }

  #cut(): void {
    const gone = this.#held.splice(0, this.#held.length - EVENTS_MAX);
    // The last of those with a position, mostly the very last.
    for (let at = gone.length - 1; at >= 0; at--) {
      const place = eventPositionOf(gone[at]!.id);
      if (place === null) continue;
      this.#raiseFloor(place);
      return;
    }
  }

  #raiseFloor(place: EventPosition): void {
    if (isBefore(this.#floor, place)) this.#floor = place;
  }

  #missed(missed: Readonly<Record<string, number>>): CellEvent {
    const counts = Object.entries(missed).map(([kind, count]) => `${String(count)} ${kind}`);
    return { ...this.#gap(`this reader was too slow; left out: ${counts.join(', ')}`), missed };
  }

  #gap(detail: string): CellEvent {
    // A reader that resumes after a gap gets it again: its id is never behind the floor.
    const id = `${String(this.#floor.revision)}.0`;
    return { id, atMs: this.#clock.nowMs(), kind: 'gap', source: this.#source, detail };
  }
}

async function* seen(
  items: AsyncIterable<Item> | readonly Item[],
  sees: (event: CellEvent) => boolean,
): AsyncGenerator<Item> {
  for await (const item of items) if (item === null || sees(item)) yield item;
}

function built(event: CellEvent | LazyEvent): CellEvent | null {
  return 'event' in event ? event.event() : event;
}
