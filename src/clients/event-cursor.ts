import { eventPositionOf } from '../wire/api/event-position.ts';
import type { CellEvent } from '../wire/api/monitor-api.ts';

/**
 * From where a follower of events goes on, at whichever monitor: after the last one that the store told. These are the same
 * in the same order at every monitor, so none is left out that no gap tells of, and none comes twice but after a gap. What
 * hosts and schedulers say comes in another order at each: after a break some of it may come twice, and some be missing.
 */
export class EventCursor {
  #since: string;

  constructor(since: string) {
    this.#since = since;
  }

  /** For `MonitorClient.events`. */
  get since(): string {
    return this.#since;
  }

  /** A stream began while its monitor was at this place: whoever asked for `now` goes on from there. */
  began(place: string): void {
    if (this.#since === 'now' && eventPositionOf(place) !== null) this.#since = place;
  }

  saw({ id, kind }: CellEvent): void {
    if (kind !== 'gap' && eventPositionOf(id) !== null) this.#since = id;
  }
}
