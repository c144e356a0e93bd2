import type { Follower } from '../../ports/cell-store.ts';
import { StoreError } from '../../ports/cell-store.ts';

/** What the head of every answer says of whoever gave it. */
export interface StoreHeader {
  /** The cluster's id. */
  readonly cluster: string;
  /** The store's newest revision when it answered. */
  readonly revision: number;
}

/** What was known when a call was made: its answer must be at least as new. */
export type Asked = (header: StoreHeader) => void;

const REMEDY = 'restore it with a new --initial-cluster-token and say `moorage restored` (docs/restoring.md)';

/**
 * Is it still the store that it was? Remembers the cluster's id and the newest revision that anybody in this process was
 * told. A store under another id, or one that has gone back, is of no use to whoever knew the former: its revisions
 * come a second time, and a compare against one that was remembered proves nothing.
 *
 * Revisions are only evidence one way round. Any revision that was ever told was agreed on by the cluster, so what is asked
 * *afterwards*, of the cluster and not of one member alone, is answered with that one or a newer. What was asked before
 * may be overtaken, and a member that lags behind may tell followers older ones: neither proves anything.
 *
 * It does not see a store that went back and was written to, before this process asked it again, until its revision had
 * passed all that was known.
 */
export class StoreWitness {
  readonly #onWrongServer: ((error: StoreError) => void) | undefined;
  #cluster: string | null = null;
  #newest = 0;
  #fault: StoreError | null = null;

  /** @param onWrongServer told once; from then on every call is refused */
  constructor(onWrongServer?: (error: StoreError) => void) {
    this.#onWrongServer = onWrongServer;
  }

  /** A store has answered before. */
  get isAcquainted(): boolean {
    return this.#cluster !== null;
  }

  /**
   * A call is about to be made.
   * @returns takes the head of each of its answers; it throws as this does when they come from another store
   * @throws StoreError `wrong-server` when one did already: nothing more is to be sent there
   */
  asking(): Asked {
    if (this.#fault !== null) throw this.#fault;
    const known = this.#newest;
    return (header) => this.#answered(header, known);
  }

  /** The same follower: what it is told counts as known, whichever member says it. */
  following(follower: Follower): Follower {
    return {
      onSnapshot: (snapshot) => {
        this.#told(snapshot.revision);
        follower.onSnapshot(snapshot);
      },
      onChanges: (changes, revision) => {
        this.#told(revision);
        follower.onChanges(changes, revision);
      },
      // What a follower knows beforehand it knows from an answer, which was told already.
      ...(follower.knows === undefined
        ? null
        : { knows: (revision: number) => follower.knows?.(revision) === true }),
    };
  }

  #told(revision: number): void {
    if (revision > this.#newest) this.#newest = revision;
  }

  #answered({ cluster, revision }: StoreHeader, known: number): void {
    this.#cluster ??= cluster;
    if (this.#cluster !== cluster)
      this.#give('another cluster answers than before: if the store was restored, say `moorage restored`');
    else if (revision < known)
      this.#give(
        `the store has gone back from revision ${String(known)} to ${String(revision)} and kept its id: ${REMEDY}`,
      );
    if (this.#fault !== null) throw this.#fault;
    this.#told(revision);
  }

  #give(message: string): void {
    if (this.#fault !== null) return;
    this.#fault = new StoreError('wrong-server', message, { retryable: false });
    this.#onWrongServer?.(this.#fault);
  }
}
