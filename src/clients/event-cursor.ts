import type { CellEvent } from '../wire/monitor-api.ts';

/** Of an event that the store tells: `<revision>.<ordinal>`. What hosts and schedulers say has no place among them. */
const PLACE = /^\d{1,15}\.\d{1,9}$/;

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

  saw({ id, kind }: CellEvent): void {
    if (kind !== 'gap' && PLACE.test(id)) this.#since = id;
  }
}
