import type { IOptions } from 'etcd3';
import { castGrpcError, Etcd3 } from 'etcd3';
import type { Credentials, KeyMaterial } from '../../pki/credentials.ts';
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

export interface DirectEtcdOptions extends IOptions {
  readonly callTimeoutMs: number;
  readonly source: Credentials | undefined;
}

/**
 * `etcd3` with transactions and watches in an encoding of our own: the same members, credentials, deadlines and faults as
 * its other calls, without its objects for each operation and event.
 */
export class DirectEtcd extends Etcd3 {
  readonly #callTimeoutMs: number;
  readonly #forget: () => void;

  constructor(options: DirectEtcdOptions) {
    const { callTimeoutMs, source, ...rest } = options;
    super({
      ...rest,
      ...credentialsOf(source?.now),
      defaultCallOptions: (context) => (context.isStream ? {} : { deadline: Date.now() + callTimeoutMs }),
    });
    this.#callTimeoutMs = callTimeoutMs;
    this.#forget = source?.onChange((now) => renew(this.pool, { ...rest, ...credentialsOf(now) })) ?? noop;
  }

  override close(): void {
    this.#forget();
    super.close();
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

function noop(): void {
  // There is nothing to forget.
}

function credentialsOf(now: KeyMaterial | undefined): Pick<IOptions, 'credentials'> {
  if (now === undefined) return {};
  const rootCertificate = Buffer.from(now.authorities);
  const [privateKey, certChain] = [Buffer.from(now.key), Buffer.from(now.certificate)];
  return { credentials: { rootCertificate, privateKey, certChain } };
}

/** What `etcd3` keeps of each member, as far as it is used here. */
interface MemberLinks {
  channelCredentials: unknown;
  cachedServices: Record<string, unknown>;
}

/**
 * From now on connections are opened with the new certificate: calls and streams under way end on their old ones. `etcd3`
 * takes credentials only when it is made, so they are those of a client that is made for them and never connects.
 */
function renew(pool: Etcd3['pool'], options: IOptions): void {
  const fresh = membersOf(new Etcd3(options)['pool']);
  for (const [position, member] of membersOf(pool).entries()) {
    member.channelCredentials = fresh[position]?.channelCredentials;
    member.cachedServices = Object.create(null) as Record<string, unknown>;
  }
}

function membersOf(pool: Etcd3['pool']): readonly MemberLinks[] {
  return (pool as unknown as { readonly hosts: readonly MemberLinks[] }).hosts;
}

function asIs(request: Buffer): Buffer {
  return request;
}
