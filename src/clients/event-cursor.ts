import { eventPositionOf } from '../wire/api/event-position.ts';
import type { CellEvent } from '../wire/api/monitor-api.ts';

/**
 * Where a follower of events resumes, at whichever monitor: after the last event of the store. Events of the store have the
 * same ids and order at every monitor, so none is missed without a gap event, and none comes twice but after a gap. Events of
 * hosts and schedulers come in another order at each monitor: after a break some may come twice, and some be missing.
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

  /** A stream began while its monitor was at this place: a follower that asked for `now` resumes from there. */
  began(place: string): void {
    if (this.#since === 'now' && eventPositionOf(place) !== null) this.#since = place;
  }

  saw({ id, kind }: CellEvent): void {
    if (kind !== 'gap' && eventPositionOf(id) !== null) this.#since = id;
  }
}
