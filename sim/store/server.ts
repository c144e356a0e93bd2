import type { CellReply, SavedCell } from '../../src/adapters/memory/cell.ts';
import { MemoryCell } from '../../src/adapters/memory/cell.ts';
import type { Attempt, Change, Entry } from '../../src/ports/cell-store.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Agenda } from '../agenda/agenda.ts';
import { Life } from '../agenda/life.ts';
import { VirtualClock } from '../agenda/virtual-clock.ts';
import type { StoreFaultProfile } from './fault-profile.ts';

/** Called for every revision as it is made. `actor` is null when the end of a lease made it. */
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
  readonly faults: StoreFaultProfile;
  readonly onRevision?: RevisionListener;
}

/** The store's server: one for a world, with a life of its own that can be paused. */
export class StoreServer {
  readonly actor = 'store';
  readonly life = new Life(this.actor);
  readonly agenda: Agenda;
  readonly faults: StoreFaultProfile;
  readonly cell: MemoryCell;
  readonly #watches = new Set<() => void>();
  readonly #sessions = new Set<Abandonable>();
  readonly #holders = new Map<string, string>();
  #cluster = 1;
  #generation = 0;
  #writer: string | null = null;
  #attempt: Attempt | null = null;

  constructor(options: StoreServerOptions) {
    this.agenda = options.agenda;
    this.faults = options.faults;
    this.cell = new MemoryCell({ clock: this.#leaseClock() });
    const { onRevision } = options;
    if (onRevision !== undefined)
      this.cell.listen('', (changes, revision) => onRevision(revision, this.#writer, changes, this.#attempt));
  }

  /** @throws StoreError */
  apply(actor: string, attempt: Attempt): CellReply {
    if (this.faults.full && attempt.writes.some((write) => write.kind === 'put'))
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

  /** The number of its id. Clients that knew another one do not use it. */
  get cluster(): number {
    return this.#cluster;
  }

  /** How often it was restored: revisions of two generations are not comparable. */
  get generation(): number {
    return this.#generation;
  }

  /**
   * Restores the store as etcd does: keys and past are those of the snapshot (null: none), its revision goes back, its leases live again.
   * @param restored `bumpedTo`: revisions continue from here instead; `isSame`: it keeps its id
   * @returns the changes against its state before
   */
  restore(
    saved: SavedCell | null,
    { bumpedTo, isSame }: { readonly bumpedTo?: number; readonly isSame: boolean },
  ): readonly Change[] {
    this.breakWatches();
    const before = this.cell.list('');
    this.cell.load(saved, bumpedTo);
    this.#generation += 1;
    if (!isSame) this.#cluster += 1;
    return changesBetween(before, this.cell.list(''));
  }

  /** The leases of an actor end before their time. */
  loseLeases(actor: string): void {
    for (const [id, holder] of [...this.#holders]) {
      if (holder !== actor) continue;
      this.#holders.delete(id);
      this.cell.endLease(id);
    }
  }

  /** Calls `broken` when watches break. @returns takes it back */
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
   * A lease lives at least its time, and up to `leaseLateMs` longer, as after a change of leaders. Without a leader none
   * ends.
   */
  #leaseClock(): Clock {
    const clock = new VirtualClock(this.agenda, this.life);
    return {
      nowMs: () => clock.nowMs(),
      monotonicMs: () => clock.monotonicMs(),
      after: (delayMs, wake) => {
        const due = (): void => {
          if (this.faults.down) cancel = clock.after(LEADERLESS_MS, due);
          else wake();
        };
        let cancel = clock.after(delayMs + this.faults.leaseLateMs(), due);
        return () => cancel();
      },
    };
  }
}

function changesBetween(before: readonly Entry[], after: readonly Entry[]): readonly Change[] {
  const now = new Map(after.map((entry) => [entry.key, entry]));
  const was = new Map(before.map((entry) => [entry.key, entry]));
  const gone = before.filter(({ key }) => !now.has(key));
  return [
    ...gone.map(({ key }) => ({ kind: 'delete', key }) as const),
    ...after
      .filter((entry) => !isSame(was.get(entry.key), entry))
      .map((entry) => ({ kind: 'put', entry }) as const),
  ];
}

function isSame(a: Entry | undefined, b: Entry): boolean {
  return a?.modRevision === b.modRevision && a.createRevision === b.createRevision && a.value === b.value;
}
