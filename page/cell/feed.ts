import { EventCursor } from '../../src/clients/event-cursor.ts';
import type { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { CellEvent } from '../../src/wire/api/monitor-api.ts';
import { Watchable } from './signal.ts';

/** Older events are let go. */
const EVENTS_MAX = 5_000;
/** Events that come close together are shown together. */
const GATHER_MS = 200;
const AGAIN_MS = 1_000;

/** What happens in the cell, the oldest first: what the monitor still holds, then live, at whichever monitor answers. */
export class Feed {
  readonly events = new Watchable<readonly CellEvent[]>([]);
  /** Grows with each gathering. */
  readonly pulse = new Watchable(0);
  readonly #client: MonitorClient;
  readonly #cursor = new EventCursor('0');
  readonly #ended = new AbortController();
  #gathered: CellEvent[] = [];
  #isWaiting = false;

  constructor(client: MonitorClient) {
    this.#client = client;
    void this.#follow();
  }

  end(): void {
    this.#ended.abort();
  }

  async #follow(): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      try {
        const call = { follow: true, signal, onBegin: (place: string) => this.#cursor.began(place) };
        for await (const event of this.#client.events(this.#cursor.since, call)) {
          this.#cursor.saw(event);
          this.#gather(event);
        }
      } catch {
        // The page shows that a monitor is silent; the next try is at another one.
      }
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }

  #gather(event: CellEvent): void {
    this.#gathered.push(event);
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    setTimeout(() => {
      this.#isWaiting = false;
      const all = [...this.events.value, ...this.#gathered].slice(-EVENTS_MAX);
      this.#gathered = [];
      this.events.set(all);
      this.pulse.set(this.pulse.value + 1);
    }, GATHER_MS);
  }
}
