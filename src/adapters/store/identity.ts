import type { Follower } from '../../ports/cell-store.ts';
import { StoreError } from '../../ports/cell-store.ts';

/** What the header of every reply says of the server. */
export interface StoreHeader {
  /** The cluster's id. */
  readonly cluster: string;
  /** The store's newest revision when it answered. */
  readonly revision: number;
}

/**
 * Checks the header of each reply to one call.
 * @throws StoreError `wrong-server`
 */
export type OnReply = (header: StoreHeader) => void;

const REMEDY = 'restore it with a new --initial-cluster-token and say `moorage restored` (docs/restoring.md)';

/**
 * Checks that the store is still the one that this process knows: the same cluster id, and no revision behind the newest
 * one seen. After a restore from a snapshot revisions come a second time, and a compare against a remembered one proves
 * nothing: the store is refused from then on.
 *
 * A revision is evidence in one direction only. The cluster agreed on every revision that was ever reported, so a call made
 * *afterwards* is answered with that one or a newer one. A call made before may be overtaken, and a lagging member may
 * report older revisions to a watch: neither proves anything.
 *
 * Not detected: a store that was restored and then written to, before this process calls it again, until its revision has
 * passed all that this process knows. `docs/decisions/restore.md`
 */
export class StoreIdentity {
  readonly #onWrongServer: ((error: StoreError) => void) | undefined;
  #cluster: string | null = null;
  #newest = 0;
  #fault: StoreError | null = null;

  /** @param onWrongServer called once; from then on every call is refused */
  constructor(onWrongServer?: (error: StoreError) => void) {
    this.#onWrongServer = onWrongServer;
  }

  /** A store has answered before. */
  get isKnown(): boolean {
    return this.#cluster !== null;
  }

  /**
   * To be called before each call to the store.
   * @returns takes the header of each of its replies
   * @throws StoreError `wrong-server` when an earlier reply came from another store
   */
  beginCall(): OnReply {
    if (this.#fault !== null) throw this.#fault;
    const known = this.#newest;
    return (header) => this.#check(header, known);
  }

  /** The same follower; the revisions reported to it count as known. */
  following(follower: Follower): Follower {
    return {
      onSnapshot: (snapshot) => {
        this.#see(snapshot.revision);
        follower.onSnapshot(snapshot);
      },
      onChanges: (changes, revision) => {
        this.#see(revision);
        follower.onChanges(changes, revision);
      },
      // The revisions that a follower knows beforehand came from replies, which were checked.
      ...(follower.knows === undefined
        ? null
        : { knows: (revision: number) => follower.knows?.(revision) === true }),
    };
  }

  #see(revision: number): void {
    if (revision > this.#newest) this.#newest = revision;
  }

  #check({ cluster, revision }: StoreHeader, known: number): void {
    this.#cluster ??= cluster;
    if (this.#cluster !== cluster)
      this.#refuse('another cluster answers than before: if the store was restored, say `moorage restored`');
    else if (revision < known)
      this.#refuse(
        `the store has gone back from revision ${String(known)} to ${String(revision)} and kept its id: ${REMEDY}`,
      );
    if (this.#fault !== null) throw this.#fault;
    this.#see(revision);
  }

  #refuse(message: string): void {
    if (this.#fault !== null) return;
    this.#fault = new StoreError('wrong-server', message, { retryable: false });
    this.#onWrongServer?.(this.#fault);
  }
}
