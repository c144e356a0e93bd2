import type { Etcd3, ILeaseKeepAliveResponse } from 'etcd3';
import type { Session } from '../../ports/cell-store.ts';
import type { Clock } from '../../ports/clock.ts';
import type { OnReply } from '../store/identity.ts';
import { RenewedSession } from '../store/session.ts';
import { storeErrorOf } from './client/faults.ts';
import { headerOf } from './client/txn-codec.ts';
import { readingFirst } from './reading-first.ts';

type Stream = Awaited<ReturnType<Etcd3['leaseClient']['leaseKeepAlive']>>;

interface Renewal {
  readonly sentAtMs: number;
  readonly answer: (isThere: true) => void;
}

interface Lease {
  readonly session: RenewedSession;
  /** Oldest first. A stream answers in the order in which it is asked. */
  unanswered: Renewal[];
}

/**
 * Sessions as etcd leases, all renewed over one stream (one stream each costs the server four times as much). The
 * client's own lease notices its loss only after twice the TTL, by the wall clock.
 */
export class LeaseKeeper {
  readonly #etcd: Etcd3;
  readonly #clock: Clock;
  /** For what is concluded from silence. */
  readonly #deadlines: Clock;
  readonly #beginCall: () => OnReply;
  readonly #leases = new Map<string, Lease>();
  #stream: Stream | null = null;
  #opening = false;
  #openedAtMs = 0;

  /** @param beginCall called before a lease is asked for */
  constructor(etcd: Etcd3, clock: Clock, beginCall: () => OnReply) {
    this.#etcd = etcd;
    this.#clock = clock;
    this.#deadlines = readingFirst(clock);
    this.#beginCall = beginCall;
  }

  /** @throws StoreError */
  async open(ttlMs: number): Promise<Session> {
    const onReply = this.#beginCall();
    const sentAtMs = this.#clock.monotonicMs();
    // etcd counts leases in seconds, and may grant more than was asked for.
    const granted = await this.#etcd.leaseClient
      .leaseGrant({ TTL: Math.ceil(ttlMs / 1000) })
      .catch((error: unknown) => {
        throw storeErrorOf(error);
      });
    onReply(headerOf(granted));
    const { ID } = granted;
    const session = new RenewedSession({
      ...{ id: ID, ttlMs, sentAtMs, clock: this.#clock, deadlines: this.#deadlines },
      renew: () => this.#renew(ID),
      revoke: async () => {
        await this.#etcd.leaseClient.leaseRevoke({ ID });
      },
      ended: () => this.#leases.delete(ID),
    });
    this.#leases.set(ID, { session, unanswered: [] });
    return session;
  }

  /** Stops renewing, as if the process had died: the keys stay until their leases expire. */
  close(): void {
    for (const { session } of [...this.#leases.values()]) session.abandon();
    this.#dropStream(this.#stream);
  }

  /** Resolves when it is answered; never, when it was not and a later one is sent over a new stream. */
  #renew(id: string): Promise<boolean> {
    return new Promise((answer) => {
      const lease = this.#leases.get(id);
      if (lease === undefined) return;
      const oldest = lease.unanswered[0];
      if (this.#stream === null) void this.#openStream();
      else this.#stream.write({ ID: id });
      lease.unanswered.push({ sentAtMs: this.#clock.monotonicMs(), answer });
      if (oldest !== undefined && oldest.sentAtMs >= this.#openedAtMs) this.#openAgain(lease, oldest);
    });
  }

  /**
   * No answer since the last renewal on this stream: it may be open in one direction only, and a new one costs little. After a pause
   * of the process the answer may be there, and is read first.
   */
  #openAgain(lease: Lease, renewal: Renewal): void {
    const stream = this.#stream;
    this.#deadlines.after(0, () => {
      if (lease.unanswered[0] !== renewal || this.#stream !== stream) return;
      this.#dropStream(stream);
      if (this.#leases.size > 0) void this.#openStream();
    });
  }

  async #openStream(): Promise<void> {
    if (this.#opening) return;
    this.#opening = true;
    try {
      const stream = await this.#etcd.leaseClient.leaseKeepAlive();
      stream.on('data', (reply) => this.#receive(stream, reply));
      stream.on('error', () => this.#dropStream(stream));
      stream.on('end', () => this.#dropStream(stream));
      this.#stream = stream;
      this.#openedAtMs = this.#clock.monotonicMs();
      for (const [ID, lease] of this.#leases) {
        lease.unanswered = lease.unanswered.slice(-1);
        if (lease.unanswered.length > 0) stream.write({ ID });
      }
    } catch {
      // The next renewal tries again; until then every session's own deadline runs.
    } finally {
      this.#opening = false;
    }
    if (this.#leases.size === 0) this.#dropStream(this.#stream);
  }

  #receive(stream: Stream, reply: ILeaseKeepAliveResponse): void {
    // What a stream that was given up still says answers an older renewal than those that are counted now.
    if (this.#stream !== stream) return;
    const lease = this.#leases.get(reply.ID);
    if (lease === undefined) return;
    if (Number(reply.TTL) <= 0) return lease.session.abandon();
    lease.unanswered.shift()?.answer(true);
  }

  #dropStream(stream: Stream | null): void {
    if (stream === null) return;
    if (this.#stream === stream) this.#stream = null;
    stream.cancel();
  }
}
