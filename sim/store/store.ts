/**
 * The cell's store in a world: etcd as the roles see it, with the weaknesses of a real one. A call travels to the server, is done there at
 * one instant, and its answer travels back; by the fault profile either may be lost or late. Revisions, leases, watches and compaction
 * are those of `MemoryCell`.
 *
 * - `server.ts`: the store itself, one for a world: revisions with their writers, leases, and restoring it
 * - `following.ts`: a client's list and watch of a prefix, and what it does after a break
 * - `fault-profile.ts`: delays, lost calls and replies, late writes, lagging and breaking watches
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
} from '../../src/ports/cell-store.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import { readOf, snapshotOf } from '../../src/adapters/memory/following.ts';
import { RenewedSession } from '../../src/adapters/store/session.ts';
import { checkAttempt, DEFAULT_STORE_LIMITS } from '../../src/adapters/store/store.ts';
import type { StoreHeader } from '../../src/adapters/store/identity.ts';
import { StoreIdentity } from '../../src/adapters/store/identity.ts';
import type { History } from '../history/history.ts';
import type { NetworkFaultProfile } from '../network/fault-profile.ts';
import type { Endpoint } from '../network/connection.ts';
import type { StoreServer } from './server.ts';
import { SimFollowing } from './following.ts';

/** A call that is not answered by then never will be. */
const CALL_TIMEOUT_MS = 4_000;
/** A late attempt is done up to this long after its caller got `unknown`. */
const LATE_MS = 2_000;

export interface SimStoreParts {
  readonly server: StoreServer;
  /** For cuts between the caller and the store. */
  readonly network: NetworkFaultProfile;
  readonly speaker: Endpoint;
  readonly history?: History;
  readonly limits?: StoreLimits;
  /** As `EtcdStoreOptions.onWrongServer`. */
  readonly onWrongServer?: (error: StoreError) => void;
}

/** What the server answers, with its identity and revision at that moment. */
interface Answered<T> {
  readonly value: T;
  /** null: there was no answer. */
  readonly header: StoreHeader | null;
  readonly generation: number;
}

/** One client of the store, on virtual time: every call is a message there and, if all goes well, one back. */
export class SimStore implements CellStore {
  readonly limits: StoreLimits;
  readonly #parts: SimStoreParts;
  readonly #followings = new Set<SimFollowing>();
  readonly #sessions = new Set<RenewedSession>();
  #closed = false;
  readonly #identity: StoreIdentity;

  constructor(parts: SimStoreParts) {
    this.#parts = parts;
    this.#identity = new StoreIdentity(parts.onWrongServer);
    this.limits = parts.limits ?? DEFAULT_STORE_LIMITS;
  }

  read(keys: readonly string[]): Promise<Snapshot> {
    const { server } = this.#parts;
    return this.#reading('store read', keys, () => readOf(server.cell, keys));
  }

  list(prefix: string, atRevision?: number): Promise<Snapshot> {
    const { cell } = this.#parts.server;
    if (atRevision === undefined) return this.#reading('store list', prefix, () => snapshotOf(cell, prefix));
    return this.#known('store list', prefix, () => snapshotOf(cell, prefix, atRevision));
  }

  listMany(prefixes: readonly string[]): Promise<readonly Snapshot[]> {
    const { cell } = this.#parts.server;
    const note = `${String(prefixes.length)} ${prefixes[0] ?? ''}`;
    return this.#known('store list', note, () => prefixes.map((prefix) => snapshotOf(cell, prefix)));
  }

  async attempt(attempt: Attempt): Promise<AttemptReply> {
    checkAttempt(attempt, this.limits);
    this.#checkOpen();
    const onReply = this.#identity.beginCall();
    const { history, speaker } = this.#parts;
    const from = history?.asking(attempt) ?? 0;
    const { value: reply, ...server } = await this.#send(attempt);
    history?.attempted(speaker.life.actor, from, attempt, reply, server.generation);
    if (server.header !== null) onReply(server.header);
    return reply;
  }

  follow(prefix: string, follower: Follower): Following {
    this.#checkOpen();
    const following = new SimFollowing(
      { ...this.#parts, list: (under) => this.list(under), ended: () => this.#followings.delete(following) },
      prefix,
      this.#identity.following(follower),
    );
    this.#followings.add(following);
    return following;
  }

  async openSession(options: SessionOptions): Promise<Session> {
    const { server, speaker } = this.#parts;
    const sentAtMs = speaker.clock.monotonicMs();
    const grant = (): string => server.grantLease(speaker.life.actor, options.ttlMs);
    const id = await this.#known('lease grant', '', grant);
    const session: RenewedSession = new RenewedSession({
      ...{ id, ttlMs: options.ttlMs, sentAtMs, clock: speaker.clock },
      renew: () => this.#ask('lease renew', id, () => server.cell.renewLease(id)),
      revoke: () => this.#ask('lease revoke', id, () => server.endLease(speaker.life.actor, id)),
      ended: () => {
        this.#sessions.delete(session);
        forget();
      },
    });
    const forget = server.opened(session);
    this.#sessions.add(session);
    return session;
  }

  async *history(prefix: string, fromRevision: number): AsyncGenerator<Revision> {
    const { cell } = this.#parts.server;
    yield* await this.#known('store history', prefix, () => cell.past(prefix, fromRevision));
  }

  oldestRevision(): Promise<number> {
    return this.#known('store history', '', () => this.#parts.server.cell.oldestRevision);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const following of [...this.#followings]) following.close();
    for (const session of [...this.#sessions]) session.abandon();
  }

  #checkOpen(): void {
    if (this.#closed) throw new StoreError('closed', 'the store was closed', { retryable: false });
  }

  async #reading(kind: string, of: readonly string[] | string, work: () => Snapshot): Promise<Snapshot> {
    const onReply = this.#identity.beginCall();
    const { history, speaker } = this.#parts;
    const from = history?.asking() ?? 0;
    const note = typeof of === 'string' ? of : of.join(' ');
    const { value: snapshot, ...server } = await this.#asked(kind, note, work);
    history?.read(speaker.life.actor, from, of, snapshot, server.generation);
    if (server.header !== null) onReply(server.header);
    return snapshot;
  }

  async #known<T>(kind: string, note: string, work: () => T): Promise<T> {
    const onReply = this.#identity.beginCall();
    const { value, header } = await this.#asked(kind, note, work);
    if (header !== null) onReply(header);
    return value;
  }

  #asked<T>(kind: string, note: string, work: () => T): Promise<Answered<T>> {
    const { server } = this.#parts;
    return this.#ask(kind, note, () => answered(server, work()));
  }

  /** A call that changes nothing that matters when it is done without being answered. */
  async #ask<T>(kind: string, note: string, work: () => T): Promise<T> {
    this.#checkOpen();
    const { server, network, speaker } = this.#parts;
    const { agenda, faults: faults } = server;
    const { life } = speaker;
    const lost = network.isCut(life.actor, server.actor) || faults.readFails();
    return new Promise((resolve, reject) => {
      const fail = (code: 'timeout' | 'unavailable'): void =>
        reject(new StoreError(code, `${kind}: ${code}`, { retryable: true }));
      const stop = speaker.clock.after(CALL_TIMEOUT_MS, () => fail('timeout'));
      if (lost) return;
      const answer = (settle: () => void): void => {
        if (network.isCut(server.actor, life.actor)) return;
        agenda.after(faults.delayMs(), life, 'store answer', () => {
          stop();
          settle();
        });
      };
      const serve = (): void => {
        if (faults.down) return answer(() => fail('unavailable'));
        try {
          const result = work();
          answer(() => resolve(result));
        } catch (error) {
          if (!(error instanceof StoreError)) throw error;
          answer(() => reject(error));
        }
      };
      agenda.after(faults.delayMs(), server.life, kind, serve, `${life.actor} ${note}`);
    });
  }

  #send(attempt: Attempt): Promise<Answered<AttemptReply>> {
    const { server, network, speaker } = this.#parts;
    const { agenda, faults: faults } = server;
    const { life } = speaker;
    const { actor } = life;
    const fate = network.isCut(actor, server.actor) ? 'request-lost' : faults.attemptFate();
    return new Promise((resolve, reject) => {
      const giveUp = (): void =>
        resolve({ ...UNHEARD, value: { outcome: 'unknown', cause: new Error(`no answer: ${fate}`) } });
      const stop = speaker.clock.after(CALL_TIMEOUT_MS, giveUp);
      if (fate === 'request-lost') return;
      const answer = (settle: () => void): void => {
        if (fate !== 'done' || network.isCut(server.actor, actor)) return;
        agenda.after(faults.delayMs(), life, 'store reply', () => {
          stop();
          settle();
        });
      };
      const serve = (): void => {
        if (faults.down)
          return answer(() => reject(new StoreError('unavailable', 'no leader', { retryable: true })));
        try {
          const reply = answered(server, server.apply(actor, attempt));
          answer(() => resolve(reply));
        } catch (error) {
          if (!(error instanceof StoreError)) throw error;
          answer(() => reject(error));
        }
      };
      const delayMs = faults.delayMs() + (fate === 'late' ? CALL_TIMEOUT_MS + faults.lateMs(LATE_MS) : 0);
      agenda.after(delayMs, server.life, 'store attempt', serve, `${actor} ${noteOf(attempt)}`);
    });
  }
}

const UNHEARD = { header: null, generation: 0 } as const;

function answered<T>({ cell, cluster, generation }: StoreServer, value: T): Answered<T> {
  return { value, header: { cluster: String(cluster), revision: cell.revision }, generation };
}

function noteOf(attempt: Attempt): string {
  let note = '';
  for (const write of attempt.writes) note += `${write.key} ${write.kind === 'put' ? write.value : ''} `;
  return note;
}
