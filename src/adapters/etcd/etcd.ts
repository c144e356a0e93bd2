/**
 * The cell store over etcd: reads, commits, follows and sessions.
 *
 * A commit is encoded (`client/txn-codec.ts`), sent once, and ends as applied, refused or unknown. The rest:
 *
 * - `client/`: the connections, the encodings and what etcd's errors mean; `server/`: finds and starts an etcd.
 * - `ranges.ts`: reads and lists. `history.ts`: past revisions.
 * - `following.ts`: lists, then watches, and begins anew after every gap; `canary.ts` finds watches that are silent.
 * - `leases.ts`: sessions, all renewed over one stream. `reading-first.ts`: what is concluded from silence after a pause.
 * - `txn-limit.ts`: how many operations the server takes in a transaction. `server-version.ts`: versions with known faults.
 * - `rights.ts`: users and their rights.
 * - `upkeep.ts`: sizes, compaction and defragmentation, for the monitor that keeps the store small.
 * - `warm-up-store.ts`, `warm-up-link.ts`: a store in memory that runs this code for the warm-up of a scheduler.
 *
 * `docs/decisions/cell-store.md`
 */
import { randomInt } from 'node:crypto';
import { CANARY_PREFIX } from '../../core/access/store-rights.ts';
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
import type { Log } from '../../ports/telemetry.ts';
import { checkAttempt } from '../store/store.ts';
import type { OnReply } from '../store/identity.ts';
import { systemRandom } from '../system/system.ts';
import { StoreIdentity } from '../store/identity.ts';
import { Canary } from './canary.ts';
import type { EtcdClientOptions } from './client/client.ts';
import { etcdClient } from './client/client.ts';
import { mayBeApplied, storeErrorOf } from './client/faults.ts';
import type { DirectEtcd } from './client/direct-client.ts';
import { EtcdFollowing } from './following.ts';
import { readHistory, readOldestRevision } from './history.ts';
import { LeaseKeeper } from './leases.ts';
import { tryEachMember } from './client/members.ts';
import { listPages, listShort, readKeys } from './ranges.ts';
import { readingFirst } from './reading-first.ts';
import { versionWarning } from './server-version.ts';
import type { TxnReply } from './client/txn-codec.ts';
import { encodeTxn } from './client/txn-codec.ts';
import { TxnLimit } from './txn-limit.ts';

export interface EtcdStoreOptions extends EtcdClientOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Instead of what the server is found to take: at most its own `--max-txn-ops` and `--max-request-bytes`. */
  readonly limits?: StoreLimits;
  /** How often the canary key is written; only while something is followed. */
  readonly canaryIntervalMs?: number;
  /** Revisions that a watch may lie behind before it lists again. */
  readonly behindMax?: number;
  /** Keys in one page of a list. */
  readonly pageKeysMax?: number;
  /**
   * Called once, when another cluster answers than before, or the same one at an older revision, as after a restore from a
   * snapshot: every later call fails, and the process must begin anew.
   */
  readonly onWrongServer?: (error: StoreError) => void;
}

const CANARY_INTERVAL_MS = 2_000;
/**
 * More keys than this are read after a refusal, at its revision, which costs another call. The server checks the right to each
 * key of a transaction, read back or not: two microseconds and more a key, and a transaction of many tasks is seldom refused.
 */
const READ_BACK_TOGETHER_MAX = 16;
/** Catching up with this much costs the server more than a new list of 10,000 keys. */
const BEHIND_MAX = 20_000;
/**
 * Canaries lie outside every cell, at a fixed number of keys, each of which is written once in an interval, by whichever of its
 * processes is first. Two, so that not all watches of a large cell have an event in the same moment; with more, a small one
 * would have more writes.
 */
const CANARY_KEYS = 2;

/** The cell store over etcd. It connects when it is first used; while etcd is away calls fail one by one, and follows resume. */
export class EtcdCellStore implements CellStore {
  readonly #etcd: DirectEtcd;
  /**
   * For watches alone: neither 20,000 events a second nor a dead link may delay a commit. And when a watch is cancelled, a server
   * with TLS may close the whole connection.
   */
  readonly #watching: DirectEtcd;
  readonly #options: EtcdStoreOptions;
  readonly #leases: LeaseKeeper;
  readonly #followings = new Set<EtcdFollowing>();
  readonly #canaryKey: string;
  readonly #canary: Canary;
  readonly #limit: TxnLimit;
  readonly #identity: StoreIdentity;
  /** The last reply (monotonic). */
  #answeredAtMs = -Infinity;
  #closed = false;

  constructor(options: EtcdStoreOptions) {
    this.#options = options;
    this.#identity = new StoreIdentity(options.onWrongServer);
    this.#etcd = etcdClient(options);
    this.#watching = etcdClient({ ...options, connectionName: 'watch' });
    this.#leases = new LeaseKeeper(this.#etcd, options.clock, () => this.#beginCall());
    this.#canaryKey = `${CANARY_PREFIX}${String(randomInt(CANARY_KEYS))}`;
    this.#limit = new TxnLimit(this.#etcd, this.#canaryKey);
    this.#canary = new Canary({
      etcd: this.#etcd,
      beginCall: () => this.#beginCall(),
      clock: readingFirst(options.clock),
      key: this.#canaryKey,
      intervalMs: options.canaryIntervalMs ?? CANARY_INTERVAL_MS,
      random: systemRandom,
      isHeardSince: (sinceMs) => [...this.#followings].every((following) => following.hasHeardSince(sinceMs)),
      isAnsweredSince: (sinceMs) => this.#answeredAtMs >= sinceMs,
      onDue: (writtenAtMs) => {
        for (const following of [...this.#followings]) following.expectCanary(writtenAtMs);
      },
    });
  }

  /** Etcd's defaults, until a server has answered that takes more. */
  get limits(): StoreLimits {
    return this.#options.limits ?? this.#limit.limits;
  }

  /**
   * Asks the server for its version, and logs a warning where it has known faults.
   * @throws StoreError
   */
  async checkServer(): Promise<{ readonly version: string }> {
    const { version } = await this.#reading(() => this.#etcd.maintenance.status());
    const warning = versionWarning(version);
    if (warning !== null) this.#options.log.warn({ version }, warning);
    return { version };
  }

  /** Where its members are reached, by clients and by each other. @throws StoreError */
  async memberUrls(): Promise<readonly string[]> {
    const { members } = await this.#reading(() => this.#etcd.cluster.memberList({}));
    return members.flatMap(({ clientURLs, peerURLs }) => [...clientURLs, ...peerURLs]);
  }

  read(keys: readonly string[]): Promise<Snapshot> {
    return this.#reading((onReply) => readKeys(this.#etcd, keys, this.limits.operationsMax, onReply));
  }

  list(prefix: string, atRevision?: number): Promise<Snapshot> {
    const { pageKeysMax } = this.#options;
    return this.#reading((onReply) => listPages(this.#etcd, prefix, onReply, { pageKeysMax, atRevision }));
  }

  listMany(prefixes: readonly string[]): Promise<readonly Snapshot[]> {
    const { operationsMax } = this.limits;
    return this.#reading((onReply) => listShort(this.#etcd, prefixes, operationsMax, onReply));
  }

  async attempt(attempt: Attempt): Promise<AttemptReply> {
    checkAttempt(attempt, this.limits);
    const { readBack } = attempt;
    if (readBack.length <= READ_BACK_TOGETHER_MAX) return this.#transact(encodeTxn(attempt));
    const reply = await this.#transact(encodeTxn({ ...attempt, readBack: [] }));
    return reply.outcome === 'refused' ? this.#readBack(readBack, reply.revision) : reply;
  }

  /** What a refused transaction would have read. @throws StoreError retryable: the refusal stands, nothing was written */
  async #readBack(keys: readonly string[], revision: number): Promise<AttemptReply> {
    try {
      const { entries: found } = await this.#reading((onReply) =>
        readKeys(this.#etcd, keys, this.limits.operationsMax, onReply, revision),
      );
      return { outcome: 'refused', revision, found };
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'compacted') throw error;
      const message = 'the revision that refused a transaction was compacted before it was read';
      throw new StoreError('unavailable', message, { retryable: true, cause: error });
    }
  }

  /** A function of its own, so that of the attempt only its bytes are held while it is under way. */
  async #transact(request: Buffer): Promise<AttemptReply> {
    const onReply = this.#beginCall();
    let reply: TxnReply;
    try {
      reply = await this.#etcd.transact(request);
    } catch (error) {
      if (!mayBeApplied(error)) throw storeErrorOf(this.#limit.faultOf(error));
      return { outcome: 'unknown', cause: error instanceof Error ? error : new Error(String(error)) };
    }
    onReply(reply.header);
    const { found } = reply;
    const { revision } = reply.header;
    return reply.succeeded ? { outcome: 'applied', revision } : { outcome: 'refused', revision, found };
  }

  follow(prefix: string, follower: Follower): Following {
    if (this.#closed) throw new StoreError('closed', 'the store was closed', { retryable: false });
    const following = new EtcdFollowing(prefix, this.#identity.following(follower), {
      etcd: this.#watching,
      clock: this.#options.clock,
      log: this.#options.log,
      canaryKey: this.#canaryKey,
      list: (whole) => this.list(whole),
      behindMax: this.#options.behindMax ?? BEHIND_MAX,
      onClose: (closed) => {
        this.#followings.delete(closed);
        if (this.#followings.size === 0) this.#canary.stop();
      },
    });
    this.#followings.add(following);
    this.#canary.start();
    return following;
  }

  openSession(options: SessionOptions): Promise<Session> {
    return this.#leases.open(options.ttlMs);
  }

  history(prefix: string, fromRevision: number): AsyncIterable<Revision> {
    const members = this.#options.endpoints.length;
    return readHistory({ calls: this.#etcd, watches: this.#watching }, prefix, fromRevision, {
      members,
      beginCall: () => this.#beginCall(),
    });
  }

  oldestRevision(): Promise<number> {
    const clients = { calls: this.#etcd, watches: this.#watching };
    return this.#reading((onReply) => readOldestRevision(clients, this.#canaryKey, onReply));
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const following of [...this.#followings]) following.close();
    this.#canary.stop();
    this.#leases.close();
    this.#etcd.close();
    this.#watching.close();
  }

  /** A read is repeated at the next member when one does not answer. */
  async #reading<T>(read: (onReply: OnReply) => Promise<T>): Promise<T> {
    const onReply = this.#beginCall();
    try {
      return await tryEachMember(this.#options.endpoints.length, () => read(onReply));
    } catch (error) {
      throw storeErrorOf(this.#limit.faultOf(error));
    }
  }

  /** @throws StoreError `wrong-server`; so does what it returns */
  #beginCall(): OnReply {
    const onReply = this.#identity.beginCall();
    return (header) => {
      if (!this.#identity.isKnown && this.#options.limits === undefined) this.#limit.learn();
      onReply(header);
      this.#answeredAtMs = this.#options.clock.monotonicMs();
    };
  }
}
