import type { Change } from '../../../ports/cell-store.ts';
import { StoreError } from '../../../ports/cell-store.ts';
import type { WatchLink } from './direct-client.ts';
import { MalformedMessage } from './protobuf.ts';
import type { WatchEvent, WatchReply } from './watch-codec.ts';

export interface WatchStreamOptions {
  readonly etcd: { watchLink(): Promise<WatchLink> };
  /** All keys from the first on, and before the second. */
  readonly range: { readonly from: string; readonly to: string };
  readonly fromRevision: number;
  /** A second key on the same stream: its events prove that the stream delivers. */
  readonly canaryKey?: string;
  readonly onRevision: (changes: readonly Change[], revision: number) => void;
  /** True: the follower knows all that the revision changed, so its events are left out. Called once for each revision. */
  readonly knows?: (revision: number) => boolean;
  readonly onCanary?: () => void;
  /** @param behind how many revisions the events of this reply lie behind the store */
  readonly onLag?: (behind: number) => void;
  /** Once; nothing is delivered after it. `compacted` when the revision is no longer kept. */
  readonly onEnd: (cause: StoreError) => void;
}

const CHANGES_ID = 1;
const CANARY_ID = 2;

/**
 * One watch from its opening to its end, on the raw stream. `etcd3`'s own watcher dies silently after a compaction, and
 * hides the gap when it re-opens; so `following.ts` decides what comes after the end. Events of an own commit are left out
 * by their revision, undecoded: a commit always writes a ledger, so its revision belongs to it alone
 * (`docs/decisions/commit-and-rebase.md`).
 */
export class WatchStream {
  readonly #options: WatchStreamOptions;
  #link: WatchLink | null = null;
  #lastRevision: number;
  #ended = false;
  /** Of a revision whose other part comes with the next fragment. */
  #changes: Change[] = [];
  #revision = 0;
  /** Compact revision from the server's cancellation of the watch; 0: none. */
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
    this.#link?.pause();
  }

  resume(): void {
    this.#link?.resume();
  }

  async #open(): Promise<void> {
    let link: WatchLink;
    try {
      link = await this.#options.etcd.watchLink();
    } catch (error) {
      this.fail(unavailable('the watch could not be opened', error));
      return;
    }
    this.#link = link;
    link.on('error', (error) => this.fail(unavailable('the watch was cut', error)));
    link.on('end', () => this.fail(unavailable('the watch was ended by the server')));
    // The reply to a commit often arrives in the same turn as the commit's event: it must be handled first.
    if (this.#options.knows === undefined) link.on('data', (reply) => this.#receive(reply));
    else link.on('data', (reply) => void setImmediate(() => this.#receive(reply)));
    if (this.#ended) {
      this.#cancel();
      return;
    }
    const { range, fromRevision, canaryKey } = this.#options;
    link.write({ watchId: CHANGES_ID, key: range.from, rangeEnd: range.to, fromRevision });
    if (canaryKey !== undefined) link.write({ watchId: CANARY_ID, key: canaryKey });
  }

  #cancel(): void {
    const link = this.#link;
    if (link === null) return;
    this.#link = null;
    // The cancellation itself comes back as an error event; the listener stays, `fail` ignores it.
    link.cancel();
  }

  /** After an unreadable reply only a new list helps. */
  #receive(reply: WatchReply): void {
    if (this.#ended) return;
    try {
      this.#read(reply);
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error;
      this.fail(unavailable('the watch sent what cannot be read', error));
    }
  }

  #read(reply: WatchReply): void {
    this.compactRevision = reply.compactRevision;
    if (this.compactRevision > 0) {
      this.fail(
        new StoreError('compacted', 'the revision to watch from is no longer kept', { retryable: true }),
      );
    } else if (reply.canceled) this.fail(unavailable('the server cancelled the watch'));
    else if (reply.watchId === CANARY_ID) {
      if (reply.hasEvents) this.#options.onCanary?.();
    } else if (reply.hasEvents || reply.isFragment || this.#changes.length > 0) this.#deliver(reply);
  }

  /** Hands the events over revision by revision, each whole, without those that were delivered before. */
  #deliver(reply: WatchReply): void {
    reply.readEvents(this.#skips, this.#take);
    if (reply.isFragment) return;
    this.#flush();
    this.#options.onLag?.(reply.revision - this.#lastRevision);
  }

  readonly #skips = (revision: number): boolean => {
    if (revision <= this.#lastRevision) return true;
    if (revision === this.#revision) return false;
    if (this.#options.knows?.(revision) !== true) return false;
    this.#flush();
    this.#lastRevision = revision;
    return true;
  };

  readonly #take = ({ isDelete, entry }: WatchEvent): void => {
    if (entry.modRevision !== this.#revision) this.#flush();
    this.#revision = entry.modRevision;
    this.#changes.push(isDelete ? { kind: 'delete', key: entry.key } : { kind: 'put', entry });
  };

  #flush(): void {
    if (this.#changes.length === 0 || this.#ended) return;
    this.#lastRevision = this.#revision;
    const whole = this.#changes;
    this.#changes = [];
    this.#options.onRevision(whole, this.#revision);
  }
}

function unavailable(message: string, cause?: unknown): StoreError {
  return new StoreError('unavailable', message, { retryable: true, cause });
}
