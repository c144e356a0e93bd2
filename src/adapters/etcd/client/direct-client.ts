import type { IOptions } from 'etcd3';
import { castGrpcError, Etcd3 } from 'etcd3';
import type { ListsReply, TxnReply } from './txn-codec.ts';
import { decodeListsReply, decodeTxnReply } from './txn-codec.ts';
import type { WatchReply, WatchRequest } from './watch-codec.ts';
import { decodeWatchReply, encodeWatch } from './watch-codec.ts';

const TXN = '/etcdserverpb.KV/Txn';
const WATCH = '/etcdserverpb.Watch/Watch';

/** One open stream that may carry several watches. */
export interface WatchLink {
  on(event: 'data', listener: (reply: WatchReply) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  write(request: WatchRequest): unknown;
  cancel(): void;
  pause(): unknown;
  resume(): unknown;
}

/**
 * `etcd3` with transactions and watches in an encoding of our own: the same members, credentials, deadlines and faults as
 * its other calls, without its objects for each operation and event.
 */
export class DirectEtcd extends Etcd3 {
  readonly #callTimeoutMs: number;

  constructor(options: IOptions & { readonly callTimeoutMs: number }) {
    const { callTimeoutMs, ...rest } = options;
    super({
      ...rest,
      defaultCallOptions: (context) => (context.isStream ? {} : { deadline: Date.now() + callTimeoutMs }),
    });
    this.#callTimeoutMs = callTimeoutMs;
  }

  /**
   * @param request a `TxnRequest`, from `encodeTxn`
   * @throws what the client's own calls throw
   */
  transact(request: Buffer): Promise<TxnReply> {
    return this.#send(request, decodeTxnReply);
  }

  /**
   * @param request a `TxnRequest`, from `encodeLists`
   * @throws what the client's own calls throw
   */
  lists(request: Buffer): Promise<ListsReply> {
    return this.#send(request, decodeListsReply);
  }

  #send<T>(request: Buffer, decode: (bytes: Buffer) => T): Promise<T> {
    return this.pool.withConnection(
      'KV',
      ({ client, metadata }) =>
        new Promise<T>((resolve, reject) => {
          const callOptions = { deadline: Date.now() + this.#callTimeoutMs };
          const answer = (error: Error | null, reply?: T): void => {
            if (error !== null) reject(castGrpcError(error));
            else if (reply === undefined) reject(new Error('a transaction got an empty reply'));
            else resolve(reply);
          };
          client.makeUnaryRequest(TXN, asIs, decode, request, metadata, callOptions, answer);
        }),
    );
  }

  /** @throws what the client's own calls throw */
  watchLink(): Promise<WatchLink> {
    const { pool } = this;
    return pool.withConnection('Watch', ({ resource, client, metadata }) => {
      const link = client.makeBidiStreamRequest(WATCH, encodeWatch, decodeWatchReply, metadata);
      // As the client does: a member whose stream broke gets new connections.
      link.on('error', (error: Error) => {
        if (link.writable) pool.markFailed(resource, error);
      });
      return link;
    });
  }
}

function asIs(request: Buffer): Buffer {
  return request;
}
