import type { Etcd3, IWatchResponse } from 'etcd3';
import type { Change } from '../../ports/cell-store.ts';
import { StoreError } from '../../ports/cell-store.ts';
import type { KeyRange } from './ranges.ts';
import { entryOf } from './ranges.ts';

export interface WatchStreamOptions {
  readonly etcd: Etcd3;
  readonly range: KeyRange;
  readonly fromRevision: number;
  /** A second key on the same stream, whose events only prove that the stream delivers. */
  readonly canaryKey?: string;
  readonly onRevision: (changes: readonly Change[], revision: number) => void;
  readonly onCanary?: (value: string) => void;
  /** @param behind how many revisions the events of this reply lie behind the store */
  readonly onLag?: (behind: number) => void;
  /** Once; nothing is delivered after it. `compacted` when the revision is no longer kept. */
  readonly onEnd: (cause: StoreError) => void;
}

type Stream = Awaited<ReturnType<Etcd3['watchClient']['watch']>>;

const CHANGES_ID = '1';
const CANARY_ID = '2';

/**
 * One watch from its opening to its end, on the raw stream. The client's own watcher dies without a word after a
 * compaction, and hides when it re-opened with what gap; so what comes after the end is decided by `following.ts`.
 */
export class WatchStream {
  readonly #options: WatchStreamOptions;
  #stream: Stream | null = null;
  #lastRevision: number;
  #ended = false;
  /** Compact revision that the server told when it cancelled the watch. */
  compactRevision = 0;

  constructor(options: WatchStreamOptions) {
    this.#options = options;
    this.#lastRevision = options.fromRevision - 1;
    void this.#open();
  }

  /** Ends the stream without calling `onEnd`. */
  close(): void {
    this.#ended = true;
    this.#cancel();
  }

  /** Ends the stream as if the server had. */
  fail(cause: StoreError): void {
    if (this.#ended) return;
    this.close();
    this.#options.onEnd(cause);
  }

  pause(): void {
    (this.#stream as { pause?: () => void } | null)?.pause?.();
  }

  resume(): void {
    (this.#stream as { resume?: () => void } | null)?.resume?.();
  }

  async #open(): Promise<void> {
    let stream: Stream;
    try {
      stream = await this.#options.etcd.watchClient.watch();
    } catch (error) {
      this.fail(unavailable('the watch could not be opened', error));
      return;
    }
    this.#stream = stream;
    stream.on('error', (error) => this.fail(unavailable('the watch was cut', error)));
    stream.on('end', () => this.fail(unavailable('the watch was ended by the server')));
    stream.on('data', (reply) => this.#receive(reply));
    if (this.#ended) {
      this.#cancel();
      return;
    }
    const { range, fromRevision, canaryKey } = this.#options;
    const request = { ...range, start_revision: fromRevision, watch_id: CHANGES_ID };
    stream.write({ create_request: request });
    if (canaryKey === undefined) return;
    const canary = { key: Buffer.from(canaryKey), watch_id: CANARY_ID };
    stream.write({ create_request: canary });
  }

  #cancel(): void {
    const stream = this.#stream;
    if (stream === null) return;
    this.#stream = null;
    // The cancellation itself comes back as an error event; the listener stays, `fail` ignores it.
    stream.cancel();
  }

  #receive(reply: IWatchResponse): void {
    if (this.#ended) return;
    this.compactRevision = Number(reply.compact_revision);
    if (this.compactRevision > 0) {
      this.fail(
        new StoreError('compacted', 'the revision to watch from is no longer kept', { retryable: true }),
      );
    } else if (reply.canceled) this.fail(unavailable('the server cancelled the watch'));
    else if (reply.watch_id === CANARY_ID) {
      for (const event of reply.events) this.#options.onCanary?.(event.kv.value.toString());
    } else if (reply.events.length > 0) this.#deliver(reply);
  }

  /** Hands the events over revision by revision, without those that were delivered before. */
  #deliver(reply: IWatchResponse): void {
    let changes: Change[] = [];
    let revision = 0;
    const flush = (): void => {
      if (changes.length === 0 || this.#ended) return;
      this.#lastRevision = revision;
      const whole = changes;
      changes = [];
      this.#options.onRevision(whole, revision);
    };
    for (const { type, kv } of reply.events) {
      const modRevision = Number(kv.mod_revision);
      if (modRevision <= this.#lastRevision) continue;
      if (modRevision !== revision) flush();
      revision = modRevision;
      // The declared names of the enum differ from those on the wire in case.
      const isDelete = type.toUpperCase() === 'DELETE';
      changes.push(
        isDelete ? { kind: 'delete', key: kv.key.toString() } : { kind: 'put', entry: entryOf(kv) },
      );
    }
    flush();
    this.#options.onLag?.(Number(reply.header.revision) - this.#lastRevision);
  }
}

function unavailable(message: string, cause?: unknown): StoreError {
  return new StoreError('unavailable', message, { retryable: true, cause });
}
