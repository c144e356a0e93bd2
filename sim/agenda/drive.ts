import type { Agenda } from './agenda.ts';

/**
 * Entries that happen in one turn of Node's event loop. Node lets all promises settle between two immediates of one turn,
 * so a turn, with its look at sockets and timers, is paid once for all of them.
 */
const BATCH = 256;

export interface DriveLimits {
  /** Virtual time at which to stop. */
  readonly untilMs: number;
  /** Stops before, when it says so; asked before every entry, all promises having settled. */
  readonly done?: () => boolean;
  /** A world that runs away is stopped with an error. */
  readonly eventsMax?: number;
}

/** Far more than any world of a few virtual minutes needs. */
const EVENTS_MAX = 20_000_000;

/**
 * Lets the agenda happen, entry by entry; after each one everything goes on that waits for nothing but its turn.
 *
 * This is the one place of the simulator that knows Node's event loop. Between two batches the agenda is closed: code that
 * acts then waited for something real (a socket, a file, a timer, a thread), and gets an error.
 * @throws what an entry throws
 */
export function drive(agenda: Agenda, limits: DriveLimits): Promise<void> {
  const { untilMs, done, eventsMax = EVENTS_MAX } = limits;
  return new Promise((resolve, reject) => {
    let over = false;
    const finish = (error?: unknown): void => {
      over = true;
      agenda.closed = false;
      if (error === undefined) resolve();
      else reject(error instanceof Error ? error : new Error('something that is no error was thrown'));
    };
    const one = (): void => {
      if (over) return;
      try {
        if (done?.() === true || !agenda.step(untilMs)) finish();
        else if (agenda.events > eventsMax) finish(new Error(`more than ${String(eventsMax)} events`));
      } catch (error) {
        finish(error);
      }
    };
    const open = (): void => {
      agenda.closed = false;
    };
    const close = (): void => {
      if (over) return;
      agenda.closed = true;
      batch();
    };
    const batch = (): void => {
      setImmediate(open);
      for (let i = 0; i < BATCH; i++) setImmediate(one);
      setImmediate(close);
    };
    batch();
  });
}
