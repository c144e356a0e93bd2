import type { StoreLimits } from '../../ports/cell-store.ts';
import { StoreError } from '../../ports/cell-store.ts';
import { DEFAULT_STORE_LIMITS } from '../store/store.ts';
import type { DirectEtcd } from './client/direct-client.ts';
import { isTooManyOperations } from './client/faults.ts';
import { encodeTxn } from './client/txn-codec.ts';

/**
 * Operations in one transaction that are used where the server takes them (`--max-txn-ops`). With four times etcd's own 128 a
 * burst of small jobs takes a third of the calls; many more would let one transaction hold up the others.
 */
export const OPERATIONS_WANTED = 512;

/**
 * How large a transaction may be. etcd does not tell its setting: so once, when a server has answered for the first time, it is
 * asked for nothing at all under `OPERATIONS_WANTED` conditions, which it refuses when it takes fewer.
 */
export class TxnLimit {
  readonly #etcd: DirectEtcd;
  /** Outside every cell; whether anything lies there does not matter. */
  readonly #key: string;
  #limits = DEFAULT_STORE_LIMITS;
  #isAsked = false;
  #wasRaised = false;

  constructor(etcd: DirectEtcd, key: string) {
    this.#etcd = etcd;
    this.#key = key;
  }

  get limits(): StoreLimits {
    return this.#limits;
  }

  /** A server answers: how much does it take? Asked once; without an answer etcd's own default stands. */
  learn(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    const compare = { key: this.#key, target: 'createRevision', equals: 0 } as const;
    const compares = Array.from({ length: OPERATIONS_WANTED }, () => compare);
    this.#etcd.transact(encodeTxn({ compares, writes: [], readBack: [] })).then(
      () => {
        this.#wasRaised = true;
        this.#limits = { ...this.#limits, operationsMax: OPERATIONS_WANTED };
      },
      () => undefined,
    );
  }

  /**
   * @returns what to tell of a transaction that failed: when one member of the cluster takes fewer operations than the one that
   *   was asked, all are held to etcd's default from now on, and the same in smaller parts will do. Of several that were under
   *   way each is told so.
   */
  faultOf(error: unknown): unknown {
    if (!this.#wasRaised || !isTooManyOperations(error)) return error;
    this.#limits = DEFAULT_STORE_LIMITS;
    const message = 'a member of the store takes fewer operations in a transaction than another';
    return new StoreError('unavailable', message, { retryable: true, cause: error });
  }
}
