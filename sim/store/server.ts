import type { Applied } from '../../src/adapters/memory/cell.ts';
import { MemoryCell } from '../../src/adapters/memory/cell.ts';
import type { Attempt, Change, Write } from '../../src/ports/cell-store.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Agenda } from '../kernel/agenda.ts';
import { Life } from '../kernel/life.ts';
import { VirtualClock } from '../kernel/virtual-clock.ts';
import type { StoreWeather } from './weather.ts';

/** Hears of every revision as it is made. `actor` is null when a lease that ran out made it. */
export type RevisionListener = (
  revision: number,
  actor: string | null,
  changes: readonly Change[],
  attempt: Attempt | null,
) => void;

interface Abandonable {
  abandon(): void;
}

/** How often a lease that is due asks whether there is a leader again. */
const LEADERLESS_MS = 500;

export interface StoreServerOptions {
  readonly agenda: Agenda;
  readonly weather: StoreWeather;
  readonly onRevision?: RevisionListener;
}

/** The store's server: one for a world, with a life of its own that can be paused. */
export class StoreServer {
  readonly actor = 'store';
  readonly life = new Life(this.actor);
  readonly agenda: Agenda;
  readonly weather: StoreWeather;
  readonly cell: MemoryCell;
  readonly #watches = new Set<() => void>();
  readonly #sessions = new Set<Abandonable>();
  readonly #holders = new Map<string, string>();
  #writer: string | null = null;
  #attempt: Attempt | null = null;

  constructor(options: StoreServerOptions) {
    this.agenda = options.agenda;
    this.weather = options.weather;
    this.cell = new MemoryCell({ clock: this.#leaseClock() });
    const { onRevision } = options;
    if (onRevision !== undefined)
      this.cell.listen('', (changes, revision) => onRevision(revision, this.#writer, changes, this.#attempt));
  }

  /** @throws StoreError */
  apply(actor: string, attempt: Attempt): Applied {
    if (this.weather.full && attempt.writes.some((write) => write.kind === 'put'))
      throw new StoreError('no-space', 'the store has no space left', { retryable: false });
    return this.#as(actor, attempt, () => this.cell.apply(attempt));
  }

  endLease(actor: string, id: string): void {
    this.#as(actor, null, () => this.cell.endLease(id));
  }

  grantLease(actor: string, ttlMs: number): string {
    const id = this.cell.grantLease(ttlMs);
    this.#holders.set(id, actor);
    return id;
  }

  /** A client's session, of whatever life. @returns takes it back */
  opened(session: Abandonable): () => void {
    this.#sessions.add(session);
    return () => this.#sessions.delete(session);
  }

  /**
   * The world is over. Node keeps a combined abort signal, and all that listens to it, until one of its sources is aborted:
   * without this no world that ended would ever be collected.
   */
  abandonAll(): void {
    for (const session of [...this.#sessions]) session.abandon();
  }

  /**
   * Everything is again as it was at the revision, null: nothing is there. All leases have ended, with their keys, and an operator has renewed the
   * cell's record. It is one revision more, since restored stores are bumped past all that was ever seen
   * (docs/restoring.md). @returns that revision
   */
  restore(
    toRevision: number | null,
    isLeased: (key: string) => boolean,
    renew: (writes: readonly Write[]) => readonly Write[],
  ): number {
    for (const id of [...this.#holders.keys()]) this.cell.endLease(id);
    this.#holders.clear();
    const kept =
      toRevision === null ? [] : this.cell.listAt('', Math.max(toRevision, this.cell.oldestRevision));
    const then = new Map(kept.map((entry) => [entry.key, entry.value]));
    const writes: Write[] = [];
    for (const { key, value } of this.cell.list('')) {
      const was = then.get(key);
      if (was === undefined || isLeased(key)) writes.push({ kind: 'delete', key });
      else if (was !== value) writes.push({ kind: 'put', key, value: was });
      then.delete(key);
    }
    for (const [key, value] of then) if (!isLeased(key)) writes.push({ kind: 'put', key, value });
    this.cell.apply({ compares: [], writes: renew(writes), readBack: [] });
    this.breakWatches();
    return this.cell.revision;
  }

  /** The leases of an actor end before their time. */
  loseLeases(actor: string): void {
    for (const [id, holder] of [...this.#holders]) {
      if (holder !== actor) continue;
      this.#holders.delete(id);
      this.cell.endLease(id);
    }
  }

  /** A watch that is to learn when watches break. @returns takes it back */
  onBreak(broken: () => void): () => void {
    this.#watches.add(broken);
    return () => this.#watches.delete(broken);
  }

  /** Ends every watch, as a member does that restarts; followers list again. */
  breakWatches(): void {
    for (const broken of [...this.#watches]) broken();
  }

  #as<T>(actor: string, attempt: Attempt | null, work: () => T): T {
    this.#writer = actor;
    this.#attempt = attempt;
    try {
      return work();
    } finally {
      this.#writer = null;
      this.#attempt = null;
    }
  }

  /**
   * A lease lives at least its time, and up to `leaseLateMs` longer, as after a change of leaders. While nobody leads none
   * ends.
   */
  #leaseClock(): Clock {
    const clock = new VirtualClock(this.agenda, this.life);
    return {
      nowMs: () => clock.nowMs(),
      monotonicMs: () => clock.monotonicMs(),
      after: (delayMs, wake) => {
        const due = (): void => {
          if (this.weather.down) cancel = clock.after(LEADERLESS_MS, due);
          else wake();
        };
        let cancel = clock.after(delayMs + this.weather.leaseLateMs(), due);
        return () => cancel();
      },
    };
  }
}
