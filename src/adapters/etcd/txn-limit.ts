import type { StoreLimits } from '../../ports/cell-store.ts';
import { StoreError } from '../../ports/cell-store.ts';
import { DEFAULT_STORE_LIMITS } from '../store/store.ts';
import type { DirectEtcd } from './client/direct-client.ts';
import { isTooManyOperations } from './client/faults.ts';
import { encodeTxn } from './client/txn-codec.ts';

/**
 * Operations in one transaction, where the server allows them (`--max-txn-ops`). With four times etcd's own 128 a burst of
 * small jobs takes a third of the calls; many more would let one transaction delay the others.
 */
export const OPERATIONS_WANTED = 512;

/**
 * How large a transaction may be. etcd does not report its setting: after the first reply of a server an empty transaction
 * with `OPERATIONS_WANTED` conditions is tried, which the server refuses when it takes fewer.
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

  /** Tries once what the server takes; without an answer etcd's own default stands. */
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
   * @returns the fault to report for a failed transaction. When one member of the cluster takes fewer operations than the one
   *   that was tried, the limit falls to etcd's default, and each transaction under way is reported as retryable.
   */
  faultOf(error: unknown): unknown {
    if (!this.#wasRaised || !isTooManyOperations(error)) return error;
    this.#limits = DEFAULT_STORE_LIMITS;
    const message = 'a member of the store takes fewer operations in a transaction than another';
    return new StoreError('unavailable', message, { retryable: true, cause: error });
  }
}
