import type { Follower, Following, Snapshot } from '../../ports/cell-store.ts';
import { StoreError } from '../../ports/cell-store.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/telemetry.ts';
import { storeErrorOf } from './client/faults.ts';
import { endOf } from './client/txn-codec.ts';
import type { WatchStreamOptions } from './client/watch-stream.ts';
import { WatchStream } from './client/watch-stream.ts';

export interface FollowingOptions {
  readonly etcd: WatchStreamOptions['etcd'];
  readonly clock: Clock;
  readonly log: Log;
  readonly canaryKey: string;
  readonly list: (prefix: string) => Promise<Snapshot>;
  /** Revisions that a watch may lie behind before it lists again instead of catching up. */
  readonly behindMax: number;
  readonly onClose: (following: EtcdFollowing) => void;
}

/** Between tries while the store is away; doubles from the first to the last. */
const RETRY_FIRST_MS = 100;
const RETRY_MAX_MS = 5_000;

/**
 * A follow over etcd: lists at revision R, watches from R+1, and lists again after every end of the watch.
 *
 *     listing ──► watching ──► (error · end · compaction · too far behind · canary missing) ──► waiting ──► listing
 */
export class EtcdFollowing implements Following {
  readonly ready: Promise<void>;
  readonly #prefix: string;
  readonly #follower: Follower;
  readonly #options: FollowingOptions;
  #stream: WatchStream | null = null;
  #cancelRetry: () => void = () => undefined;
  #retryMs = RETRY_FIRST_MS;
  #closed = false;
  #settleReady: { resolve: () => void; reject: (cause: Error) => void } | null = null;
  /** Canaries are only missed by streams that were open when they were sent. */
  #openSinceMs = Infinity;
  /** Of the last change or canary, whoever wrote it (monotonic): a canary may be late behind many changes. */
  #heardAtMs = -Infinity;

  constructor(prefix: string, follower: Follower, options: FollowingOptions) {
    this.#prefix = prefix;
    this.#follower = follower;
    this.#options = options;
    this.ready = new Promise((resolve, reject) => (this.#settleReady = { resolve, reject }));
    // An unhandled rejection would end the process when a following is closed early and its `ready` is not awaited.
    this.ready.catch(() => undefined);
    void this.#listAndWatch();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#cancelRetry();
    this.#stream?.close();
    this.#settleReady?.reject(new StoreError('closed', 'the following was closed', { retryable: false }));
    this.#options.onClose(this);
  }

  /** Lists again unless something has come through since a canary was written, one interval ago. */
  expectCanary(writtenAtMs: number): void {
    if (!this.hasHeardSince(writtenAtMs))
      this.#stream?.fail(new StoreError('timeout', 'the watch is silent', { retryable: true }));
  }

  /** Something has come through the watch since then (monotonic), or it was opened since, or is not open. */
  hasHeardSince(sinceMs: number): boolean {
    return Math.max(this.#openSinceMs, this.#heardAtMs) >= sinceMs;
  }

  async #listAndWatch(): Promise<void> {
    let snapshot: Snapshot;
    try {
      snapshot = await this.#options.list(this.#prefix);
    } catch (error) {
      this.#retry(storeErrorOf(error));
      return;
    }
    if (this.#closed) return;
    this.#retryMs = RETRY_FIRST_MS;
    this.#follower.onSnapshot(snapshot);
    this.#settleReady?.resolve();
    if (!this.#isClosed()) this.#watch(snapshot.revision + 1);
  }

  /** A follower may close its own following within a call. */
  #isClosed(): boolean {
    return this.#closed;
  }

  #watch(fromRevision: number): void {
    this.#openSinceMs = this.#options.clock.monotonicMs();
    this.#stream = new WatchStream({
      etcd: this.#options.etcd,
      range: { from: this.#prefix, to: endOf(this.#prefix) },
      fromRevision,
      canaryKey: this.#options.canaryKey,
      onRevision: (changes, revision) => this.#follower.onChanges(changes, revision),
      ...(this.#follower.knows === undefined
        ? null
        : { knows: (revision: number) => this.#follower.knows?.(revision) === true }),
      onCanary: () => (this.#heardAtMs = this.#options.clock.monotonicMs()),
      onLag: (behind) => {
        this.#heardAtMs = this.#options.clock.monotonicMs();
        if (behind > this.#options.behindMax)
          this.#stream?.fail(
            new StoreError('timeout', `the watch is ${String(behind)} revisions behind`, { retryable: true }),
          );
      },
      onEnd: (cause) => this.#retry(cause),
    });
  }

  #retry(cause: StoreError): void {
    if (this.#closed) return;
    this.#openSinceMs = Infinity;
    const delayMs = this.#retryMs;
    this.#retryMs = Math.min(RETRY_MAX_MS, delayMs * 2);
    const fields = { prefix: this.#prefix, code: cause.code, delayMs };
    this.#options.log.debug(fields, `following again from a new list: ${cause.message}`);
    this.#cancelRetry = this.#options.clock.after(delayMs, () => void this.#listAndWatch());
  }
}
