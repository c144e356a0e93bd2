import { setImmediate } from 'node:timers/promises';
import type {
  Attempt,
  AttemptReply,
  CellStore,
  Follower,
  Following,
  Revision,
  Session,
  Snapshot,
  StoreLimits,
  Write,
} from '../../ports/cell-store.ts';
import type { Clock } from '../../ports/clock.ts';
import { MemoryCell } from '../memory/cell.ts';
import { MemoryCellStore } from '../memory/memory.ts';
import { DEFAULT_STORE_LIMITS, checkAttempt } from '../store/store.ts';
import { silentLog } from '../telemetry/silent.ts';
import { EtcdFollowing } from './following.ts';
import { WarmUpLink } from './warm-up-link.ts';
import { encodeTxnReply } from './client/reply-codec.ts';
import { decodeTxnReply, encodeTxn } from './client/txn-codec.ts';
import { OPERATIONS_WANTED } from './txn-limit.ts';

/** As a lease of etcd is called. */
const LEASE = '7587862094384829189';
/** A watch here lies behind by nothing. */
const BEHIND_MAX = Number.MAX_SAFE_INTEGER;

/**
 * A cell in memory whose transactions and watches go through the etcd adapter's own encoders and decoders, so that V8
 * compiles them, and the code that works on their results, before the first real commit. Touches no network. Sessions never
 * end, and there is no other writer.
 */
export class WarmUpStore implements CellStore {
  readonly limits: StoreLimits = { ...DEFAULT_STORE_LIMITS, operationsMax: OPERATIONS_WANTED };
  readonly #clock: Clock;
  readonly #turn: () => Promise<void>;
  readonly #cell: MemoryCell;
  readonly #memory: MemoryCellStore;
  readonly #followings = new Set<EtcdFollowing>();

  /** @param mayGoOn awaited before each answer and each message of a watch: lets other work go first */
  constructor(clock: Clock, mayGoOn: () => Promise<void> = () => Promise.resolve()) {
    this.#clock = clock;
    this.#turn = async () => {
      await setImmediate();
      await mayGoOn();
    };
    this.#cell = new MemoryCell({ clock });
    this.#memory = new MemoryCellStore({ clock, cell: this.#cell });
  }

  read(keys: readonly string[]): Promise<Snapshot> {
    return this.#memory.read(keys);
  }

  list(prefix: string, atRevision?: number): Promise<Snapshot> {
    return this.#memory.list(prefix, atRevision);
  }

  listMany(prefixes: readonly string[]): Promise<readonly Snapshot[]> {
    return this.#memory.listMany(prefixes);
  }

  async attempt(attempt: Attempt): Promise<AttemptReply> {
    checkAttempt(attempt, this.limits);
    encodeTxn(attempt);
    await this.#turn();
    const done = this.#cell.apply({ ...attempt, writes: attempt.writes.map(withoutSession) });
    const back = done.outcome === 'applied' ? [] : done.found.values();
    const bytes = encodeTxnReply(done.outcome === 'applied', done.revision, attempt.writes.length, back);
    const { header, succeeded, found } = decodeTxnReply(bytes);
    const { revision } = header;
    return succeeded ? { outcome: 'applied', revision } : { outcome: 'refused', revision, found };
  }

  follow(prefix: string, follower: Follower): Following {
    const following = new EtcdFollowing(prefix, follower, {
      etcd: { watchLink: () => Promise.resolve(new WarmUpLink(this.#cell, this.#turn)) },
      clock: this.#clock,
      log: silentLog,
      canaryKey: '',
      list: (whole) => this.list(whole),
      behindMax: BEHIND_MAX,
      onClose: (closed) => this.#followings.delete(closed),
    });
    this.#followings.add(following);
    return following;
  }

  openSession(): Promise<Session> {
    const lost = new AbortController().signal;
    const renewedAtMs = this.#clock.monotonicMs();
    return Promise.resolve({ id: LEASE, lost, renewedAtMs, close: () => Promise.resolve() });
  }

  history(prefix: string, fromRevision: number): AsyncIterable<Revision> {
    return this.#memory.history(prefix, fromRevision);
  }

  oldestRevision(): Promise<number> {
    return this.#memory.oldestRevision();
  }

  async close(): Promise<void> {
    for (const following of [...this.#followings]) following.close();
    await this.#memory.close();
  }
}

function withoutSession(write: Write): Write {
  return write.kind === 'put' ? { kind: 'put', key: write.key, value: write.value } : write;
}
