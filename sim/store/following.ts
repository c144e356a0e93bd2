import type { Change, Follower, Following, Snapshot } from '../../src/ports/cell-store.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import type { NetworkFaultProfile } from '../network/fault-profile.ts';
import type { Endpoint } from '../network/connection.ts';
import type { StoreServer } from './server.ts';

export interface SimFollowingParts {
  readonly server: StoreServer;
  readonly network: NetworkFaultProfile;
  readonly speaker: Endpoint;
  readonly list: (prefix: string) => Promise<Snapshot>;
  readonly ended: () => void;
}

const RETRY_FIRST_MS = 100;
const RETRY_MAX_MS = 5_000;
/** A canary is written every 2 s, and missed as long after. */
const CANARY_MS = 4_000;

/**
 * A follow as over etcd: list, then watch from the next revision, and after every break of the watch from the start. Changes
 * arrive late, in order; a break in between is a gap, which only the next list closes.
 */
export class SimFollowing implements Following {
  readonly ready: Promise<void>;
  readonly #parts: SimFollowingParts;
  readonly #prefix: string;
  readonly #follower: Follower;
  #stopWatch: () => void = () => undefined;
  #cancelRetry: () => void = () => undefined;
  #retryMs = RETRY_FIRST_MS;
  /** Counts watches: changes that were on their way when a watch broke are dropped. */
  #watch = 0;
  #arrivesMs = 0;
  #closed = false;
  #settleReady: { resolve: () => void; reject: (cause: Error) => void } | null = null;

  constructor(parts: SimFollowingParts, prefix: string, follower: Follower) {
    this.#parts = parts;
    this.#prefix = prefix;
    this.#follower = follower;
    this.ready = new Promise((resolve, reject) => (this.#settleReady = { resolve, reject }));
    // Not every caller waits for it; a following that is closed early must not end the process.
    this.ready.catch(() => undefined);
    void this.#begin();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#endWatch();
    this.#cancelRetry();
    this.#settleReady?.reject(new StoreError('closed', 'the following was closed', { retryable: false }));
    this.#parts.ended();
  }

  async #begin(): Promise<void> {
    let snapshot: Snapshot;
    try {
      snapshot = await this.#parts.list(this.#prefix);
    } catch {
      this.#retry();
      return;
    }
    if (this.#closed) return;
    this.#retryMs = RETRY_FIRST_MS;
    this.#follower.onSnapshot(snapshot);
    this.#settleReady?.resolve();
    if (!this.#isClosed()) this.#open(snapshot.revision + 1);
  }

  /** A follower may close its own following from within a callback. */
  #isClosed(): boolean {
    return this.#closed;
  }

  #open(fromRevision: number): void {
    const { server, speaker } = this.#parts;
    // A request to watch that cannot get there is a watch that is broken from the start.
    if (this.#isCut()) return this.#retry();
    const watch = this.#watch;
    server.agenda.after(
      server.faults.delayMs(),
      server.life,
      'watch',
      () => {
        if (watch !== this.#watch || this.#closed || speaker.life.ended) return;
        this.#listen(watch, fromRevision);
      },
      `${speaker.life.actor} ${this.#prefix}`,
    );
  }

  #listen(watch: number, fromRevision: number): void {
    const { server, speaker } = this.#parts;
    const { cell } = server;
    if (server.faults.down || cell.oldestRevision > fromRevision) return this.#break(watch);
    if (cell.revision < fromRevision - 1) this.#expectCanary(watch);
    // A watch from a future revision, since the store went back, waits without an error.
    const stop = cell.listen(this.#prefix, (changes, revision) => {
      if (revision >= fromRevision) this.#deliver(watch, changes, revision);
    });
    const forget = server.onBreak(() => this.#break(watch));
    this.#stopWatch = () => {
      stop();
      forget();
    };
    speaker.life.onEnd(this.#stopWatch);
    for (const { changes, revision } of cell.past(this.#prefix, fromRevision))
      this.#deliver(watch, changes, revision);
  }

  /** Every watch must see the canary; the client's own clock finds that it does not come. */
  #expectCanary(watch: number): void {
    this.#parts.speaker.clock.after(CANARY_MS, () => {
      if (watch === this.#watch && !this.#closed) this.#break(watch);
    });
  }

  /** In the server's life: a change is sent. */
  #deliver(watch: number, changes: readonly Change[], revision: number): void {
    const { server } = this.#parts;
    if (server.faults.watchBreaks() || this.#isCut()) return this.#break(watch);
    const deliver = (): void => {
      if (this.#follower.knows?.(revision) !== true) this.#follower.onChanges(changes, revision);
    };
    this.#arrive(watch, 'watched', deliver, `${String(revision)}`);
  }

  /** The watch ends; its client learns it, at the latest by a missing canary. */
  #break(watch: number): void {
    this.#stopWatch();
    this.#arrive(watch, 'watch broken', () => {
      this.#endWatch();
      this.#retry();
    });
  }

  /** Later, in the follower's life, after all earlier changes. */
  #arrive(watch: number, kind: string, arrived: () => void, note = ''): void {
    const { server, speaker } = this.#parts;
    const { agenda, faults: faults } = server;
    this.#arrivesMs = Math.max(this.#arrivesMs, agenda.nowMs + faults.watchDelayMs());
    const delivered = (): void => {
      if (watch === this.#watch && !this.#closed) arrived();
    };
    agenda.after(this.#arrivesMs - agenda.nowMs, speaker.life, kind, delivered, note + this.#prefix);
  }

  #endWatch(): void {
    this.#watch += 1;
    this.#stopWatch();
    this.#stopWatch = () => undefined;
  }

  #retry(): void {
    if (this.#closed) return;
    const delayMs = this.#retryMs;
    this.#retryMs = Math.min(RETRY_MAX_MS, delayMs * 2);
    this.#cancelRetry = this.#parts.speaker.clock.after(delayMs, () => void this.#begin());
  }

  #isCut(): boolean {
    const { network, server, speaker } = this.#parts;
    const { actor } = speaker.life;
    return network.isCut(actor, server.actor) || network.isCut(server.actor, actor);
  }
}
