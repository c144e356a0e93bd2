/**
 * The world in memory, for tests, hollow hosts, warm-ups and the simulator: the same ports without a machine.
 *
 * - The store: this file is the client side, `cell.ts` the server side (revisions, leases, history), `entry-folders.ts`
 *   its entries by folder, `following.ts` a follow.
 * - `disk.ts`: files of a state folder, over `folder-tree.ts` (names and watchers).
 * - `processes.ts`: hollow shims and tasks, which only take time; `hollow-task.ts` is one task, `hollow-link.ts` a
 *   connection to its shim.
 */
import type {
  Attempt,
  AttemptReply,
  CellStore,
  Follower,
  Following,
  Revision,
  Session,
  SessionOptions,
  Snapshot,
  StoreLimits,
} from '../../ports/cell-store.ts';
import { StoreError } from '../../ports/cell-store.ts';
import type { Clock } from '../../ports/clock.ts';
import { checkAttempt, DEFAULT_STORE_LIMITS } from '../store/store.ts';
import type { OnReply } from '../store/identity.ts';
import { StoreIdentity } from '../store/identity.ts';
import { MemoryCell } from './cell.ts';
import { MemoryFollowing, readOf, snapshotOf } from './following.ts';
import { RenewedSession } from '../store/session.ts';

export interface MemoryStoreOptions {
  readonly clock: Clock;
  /** Shared by several stores, as several clients share an etcd; without it the store has one of its own. */
  readonly cell?: MemoryCell;
  readonly limits?: StoreLimits;
  /** Schedules each call to a follower; by default in the next microtask. Must keep the order. */
  readonly deliver?: (call: () => void) => void;
  /** Called once, when the cell has gone back: every later call fails. */
  readonly onWrongServer?: (error: StoreError) => void;
}

/** All cells in memory have one cluster id: only a revision that goes back distinguishes them. */
const CLUSTER = 'memory';

/** The cell store in memory: the client side. */
export class MemoryCellStore implements CellStore {
  readonly limits: StoreLimits;
  readonly cell: MemoryCell;
  readonly #clock: Clock;
  readonly #deliver: (call: () => void) => void;
  readonly #followings = new Set<MemoryFollowing>();
  readonly #sessions = new Set<RenewedSession>();
  readonly #identity: StoreIdentity;
  #closed = false;
  #cutOff = false;

  constructor(options: MemoryStoreOptions) {
    this.#clock = options.clock;
    this.limits = options.limits ?? DEFAULT_STORE_LIMITS;
    this.cell = options.cell ?? new MemoryCell({ clock: options.clock });
    this.#deliver = options.deliver ?? queueMicrotask;
    this.#identity = new StoreIdentity(options.onWrongServer);
  }

  async read(keys: readonly string[]): Promise<Snapshot> {
    this.#check();
    return readOf(this.cell, keys);
  }

  async list(prefix: string, atRevision?: number): Promise<Snapshot> {
    this.#check();
    return snapshotOf(this.cell, prefix, atRevision);
  }

  listMany(prefixes: readonly string[]): Promise<readonly Snapshot[]> {
    return Promise.all(prefixes.map((prefix) => this.list(prefix)));
  }

  async attempt(attempt: Attempt): Promise<AttemptReply> {
    checkAttempt(attempt, this.limits);
    const onReply = this.#check();
    const reply = this.cell.apply(attempt);
    onReply({ cluster: CLUSTER, revision: reply.revision });
    return reply;
  }

  follow(prefix: string, follower: Follower): Following {
    if (this.#closed) throw closedError();
    const following = new MemoryFollowing(
      ...([this.cell, prefix, this.#identity.following(follower), this.#deliver] as const),
      () => this.#followings.delete(following),
    );
    this.#followings.add(following);
    if (!this.#cutOff) following.connect();
    return following;
  }

  async openSession(options: SessionOptions): Promise<Session> {
    this.#check();
    const { ttlMs } = options;
    const id = this.cell.grantLease(ttlMs);
    const session: RenewedSession = new RenewedSession({
      ...{ id, ttlMs, clock: this.#clock, sentAtMs: this.#clock.monotonicMs() },
      renew: async () => {
        this.#check();
        return this.cell.renewLease(id);
      },
      revoke: async () => {
        this.#check();
        this.cell.endLease(id);
      },
      ended: () => this.#sessions.delete(session),
    });
    this.#sessions.add(session);
    return session;
  }

  async *history(prefix: string, fromRevision: number): AsyncGenerator<Revision> {
    this.#check();
    yield* this.cell.past(prefix, fromRevision);
  }

  async oldestRevision(): Promise<number> {
    this.#check();
    return this.cell.oldestRevision;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const following of [...this.#followings]) following.close();
    for (const session of [...this.#sessions]) session.abandon();
  }

  /** As if the network to the store were gone: calls fail, followers get no changes, sessions are not renewed. */
  cutOff(): void {
    this.#cutOff = true;
    for (const following of this.#followings) following.disconnect();
  }

  /** Ends `cutOff`: every follower gets a new snapshot. */
  reconnect(): void {
    this.#cutOff = false;
    for (const following of this.#followings) following.connect();
  }

  #check(): OnReply {
    if (this.#closed) throw closedError();
    if (this.#cutOff) throw new StoreError('unavailable', 'the store cannot be reached', { retryable: true });
    const onReply = this.#identity.beginCall();
    onReply({ cluster: CLUSTER, revision: this.cell.revision });
    return onReply;
  }
}

function closedError(): StoreError {
  return new StoreError('closed', 'the store was closed', { retryable: false });
}
