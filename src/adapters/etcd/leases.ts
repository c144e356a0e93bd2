import type { Etcd3, ILeaseKeepAliveResponse } from 'etcd3';
import type { Session } from '../../ports/cell-store.ts';
import type { Clock } from '../../ports/clock.ts';
import type { OnReply } from '../store/identity.ts';
import { storeErrorOf } from './client/faults.ts';
import { headerOf } from './client/txn-codec.ts';

/** Three renewals in a TTL: two may be lost without harm. */
const RENEWALS_PER_TTL = 3;
/**
 * We give ourselves up this part of the TTL after the last renewal that was answered, counted from when it was sent. The
 * server counts from when it came, and expires later than the TTL; so we are always first.
 */
const OWN_DEADLINE_FRACTION = 0.8;

type Stream = Awaited<ReturnType<Etcd3['leaseClient']['leaseKeepAlive']>>;

/**
 * Sessions as etcd leases, all renewed over one stream (one stream each costs the server four times as much). The
 * client's own lease notices its loss only after twice the TTL, by the wall clock.
 */
export class LeaseKeeper {
  readonly #etcd: Etcd3;
  readonly #clock: Clock;
  readonly #asking: () => OnReply;
  readonly #sessions = new Map<string, EtcdSession>();
  #stream: Stream | null = null;
  #opening = false;
  #openedAtMs = 0;

  /** @param asking a lease is about to be asked for: what is told of the answer */
  constructor(etcd: Etcd3, clock: Clock, asking: () => OnReply) {
    this.#etcd = etcd;
    this.#clock = clock;
    this.#asking = asking;
  }

  /** @throws StoreError */
  async open(ttlMs: number): Promise<EtcdSession> {
    const onReply = this.#asking();
    const sentAtMs = this.#clock.monotonicMs();
    // etcd counts leases in seconds, and may grant more than was asked for.
    const granted = await this.#etcd.leaseClient
      .leaseGrant({ TTL: Math.ceil(ttlMs / 1000) })
      .catch((error: unknown) => {
        throw storeErrorOf(error);
      });
    onReply(headerOf(granted));
    const { ID } = granted;
    const session: EtcdSession = new EtcdSession(ID, ttlMs, sentAtMs, this.#clock, {
      renew: () => this.#renew(session),
      end: () => this.#sessions.delete(ID),
      revoke: async () => {
        await this.#etcd.leaseClient.leaseRevoke({ ID });
      },
    });
    this.#sessions.set(ID, session);
    return session;
  }

  /** Stops renewing, as if the process had died: the keys stay until their leases run out. */
  close(): void {
    for (const session of [...this.#sessions.values()]) session.abandon();
    this.#dropStream(this.#stream);
  }

  #renew(session: EtcdSession): void {
    // No answer since the last renewal on this stream: it may be open in one direction only. A new one costs little.
    if (session.askedAtMs !== null && session.askedAtMs >= this.#openedAtMs) this.#dropStream(this.#stream);
    if (this.#stream === null) void this.#openStream();
    else this.#stream.write({ ID: session.id });
  }

  async #openStream(): Promise<void> {
    if (this.#opening) return;
    this.#opening = true;
    try {
      const stream = await this.#etcd.leaseClient.leaseKeepAlive();
      stream.on('data', (reply) => this.#receive(reply));
      stream.on('error', () => this.#dropStream(stream));
      stream.on('end', () => this.#dropStream(stream));
      this.#stream = stream;
      this.#openedAtMs = this.#clock.monotonicMs();
      for (const session of this.#sessions.values())
        if (session.askedAtMs !== null) stream.write({ ID: session.id });
    } catch {
      // The next renewal tries again; until then every session's own deadline runs.
    } finally {
      this.#opening = false;
    }
    if (this.#sessions.size === 0) this.#dropStream(this.#stream);
  }

  #receive(reply: ILeaseKeepAliveResponse): void {
    const session = this.#sessions.get(reply.ID);
    if (session === undefined) return;
    if (Number(reply.TTL) > 0) session.renewed();
    else session.abandon();
  }

  #dropStream(stream: Stream | null): void {
    if (stream === null) return;
    if (this.#stream === stream) this.#stream = null;
    stream.cancel();
  }
}

interface SessionHooks {
  readonly renew: () => void;
  readonly end: () => void;
  readonly revoke: () => Promise<void>;
}

export class EtcdSession implements Session {
  readonly id: string;
  readonly #ttlMs: number;
  readonly #clock: Clock;
  readonly #hooks: SessionHooks;
  readonly #lost = new AbortController();
  /** When the oldest renewal without an answer was sent; null: all were answered. */
  #askedAtMs: number | null = null;
  #cancelRenewal: () => void = () => undefined;
  #cancelDeadline: () => void = () => undefined;
  #renewedAtMs = 0;

  constructor(id: string, ttlMs: number, grantSentAtMs: number, clock: Clock, hooks: SessionHooks) {
    this.id = id;
    this.#ttlMs = ttlMs;
    this.#clock = clock;
    this.#hooks = hooks;
    this.#extend(grantSentAtMs);
    this.#renewLater();
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  get renewedAtMs(): number {
    return this.#renewedAtMs;
  }

  get askedAtMs(): number | null {
    return this.#askedAtMs;
  }

  async close(): Promise<void> {
    this.abandon();
    try {
      await this.#hooks.revoke();
    } catch {
      // It cannot be reached, or has ended the lease itself: either way the keys go when the lease runs out.
    }
  }

  abandon(): void {
    this.#cancelRenewal();
    this.#cancelDeadline();
    this.#hooks.end();
    this.#lost.abort();
  }

  renewed(): void {
    if (this.#askedAtMs === null || this.#lost.signal.aborted) return;
    this.#extend(this.#askedAtMs);
    this.#askedAtMs = null;
  }

  #renewLater(): void {
    this.#cancelRenewal = this.#clock.after(this.#ttlMs / RENEWALS_PER_TTL, () => {
      this.#hooks.renew();
      this.#askedAtMs ??= this.#clock.monotonicMs();
      this.#renewLater();
    });
  }

  #extend(sentAtMs: number): void {
    this.#renewedAtMs = sentAtMs;
    this.#cancelDeadline();
    const leftMs = sentAtMs + this.#ttlMs * OWN_DEADLINE_FRACTION - this.#clock.monotonicMs();
    this.#cancelDeadline = this.#clock.after(Math.max(0, leftMs), () => this.abandon());
  }
}
