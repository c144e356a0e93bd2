import type { Revision } from '../../ports/cell-store.ts';
import type { MemoryCell } from '../memory/cell.ts';
import type { WatchLink } from './client/direct-client.ts';
import { encodeWatchReply } from './client/reply-codec.ts';
import type { WatchReply, WatchRequest } from './client/watch-codec.ts';
import { decodeWatchReply } from './client/watch-codec.ts';

/**
 * A watch over a cell in memory whose replies are encoded and decoded like a server's. All changes since the last reply come
 * in the next one.
 */
export class WarmUpLink implements WatchLink {
  readonly #cell: MemoryCell;
  readonly #turn: () => Promise<void>;
  #listener: (reply: WatchReply) => void = () => undefined;
  #waiting: Revision[] = [];
  #stop: () => void = () => undefined;
  #isOver = false;

  /** @param turn resolves when a reply may be sent */
  constructor(cell: MemoryCell, turn: () => Promise<void>) {
    this.#cell = cell;
    this.#turn = turn;
  }

  /** It never ends or fails by itself. */
  on(event: 'data' | 'end' | 'error', listener: unknown): void {
    if (event === 'data') this.#listener = listener as (reply: WatchReply) => void;
  }

  /** @param request one without a revision asks for canaries, which are not written here */
  write({ watchId, key, fromRevision }: WatchRequest): void {
    if (fromRevision === undefined) return;
    for (const past of this.#cell.past(key, fromRevision)) this.#add(watchId, past);
    this.#stop = this.#cell.listen(key, (changes, revision) => this.#add(watchId, { changes, revision }));
  }

  cancel(): void {
    this.#isOver = true;
    this.#stop();
  }

  pause(): void {
    // Its reader keeps up.
  }

  resume(): void {
    // It was never paused.
  }

  #add(watchId: number, revision: Revision): void {
    if (this.#waiting.length === 0) void this.#turn().then(() => this.#send(watchId));
    this.#waiting.push(revision);
  }

  #send(watchId: number): void {
    const revisions = this.#waiting;
    this.#waiting = [];
    if (!this.#isOver) this.#listener(decodeWatchReply(encodeWatchReply(watchId, revisions)));
  }
}
