/**
 * Connections to etcd. Transactions and watches carry the load and have an encoding of their own: `direct-client.ts` sends
 * them over the connections of `etcd3`, `txn-codec.ts` and `watch-codec.ts` write requests and read replies, `protobuf.ts`
 * has the wire format. `watch-stream.ts` is one watch from its opening to its end. `members.ts` avoids members that do not
 * answer; `faults.ts` tells what an error means for a write. `reply-codec.ts` is the server's side, for the warm-up.
 */
import { noop } from 'cockatiel';
import { storeName } from '../../../core/access/identity.ts';
import type { Credentials } from '../../pki/credentials.ts';
import { DirectEtcd } from './direct-client.ts';
import { Members } from './members.ts';

export interface EtcdClientOptions {
  /** `http://127.0.0.1:2379`; one or several members of one cluster. */
  readonly endpoints: readonly string[];
  /** Of every single call. Longer than an election (1 s) with its retries, shorter than a person waits. */
  readonly callTimeoutMs?: number;
  /** How long a connection may be silent before the peer is asked whether it is there. */
  readonly keepAliveMs?: number;
  /** Clients of another name have connections of their own, so that what holds one up does not hold up the other. */
  readonly connectionName?: string;
  /** With them over TLS; the endpoints begin with `https` then. */
  readonly credentials?: Credentials | undefined;
}

const CALL_TIMEOUT_MS = 5_000;
/** Servers end connections on which they are asked more often than every 5 s. */
const KEEP_ALIVE_MS = 6_000;
/**
 * As long as a call may take. gRPC's timer runs before what came in during a pause of this process is read: a shorter one
 * drops a connection that is alive, and with it the renewals of sessions. One that is cut without a word is noticed 11 s later
 * at most.
 */
const KEEP_ALIVE_TIMEOUT_MS = CALL_TIMEOUT_MS;
/** The default of 4 MiB fails on a page of large records. Pages that are larger still are read again in halves. */
const MESSAGE_BYTES_MAX = 64 * 1024 * 1024;

/**
 * HTTP/2 flow control window of each connection and each stream. With the default of 64 KiB a transaction of 512 jobs
 * takes eight turns of the event loop.
 */
const WINDOW_BYTES = 4 * 1024 * 1024;

/** A member of the store shows that it is one, at whatever address it answers: no other role can stand in for it. */
export function storeNameOption(credentials: Credentials | undefined): Readonly<Record<string, string>> {
  return credentials === undefined
    ? {}
    : { 'grpc.ssl_target_name_override': storeName(credentials.identity.cell) };
}

/**
 * Makes a connection to etcd on which no call is sent twice, and none waits for ever.
 *
 * By default `etcd3` re-sends any recoverable failure three times, transactions included, so that a commit whose reply
 * was lost comes back as "compare failed" though it was applied; and its circuit breaker, opened by one `no space`, stops
 * reads too. Both are off: a member that does not answer is avoided for some seconds (`members.ts`), and every fault goes
 * to the caller, with what it means for a write in `faults.ts`.
 */
export function etcdClient(options: EtcdClientOptions): DirectEtcd {
  const members = new Members(() => performance.now());
  return new DirectEtcd({
    hosts: [...options.endpoints],
    source: options.credentials,
    faultHandling: { host: () => (options.endpoints.length > 1 ? members.add() : noop), global: noop },
    callTimeoutMs: options.callTimeoutMs ?? CALL_TIMEOUT_MS,
    grpcOptions: {
      // grpc-js has retries of its own, below those of the client.
      'grpc.enable_retries': 0,
      'grpc.keepalive_time_ms': options.keepAliveMs ?? KEEP_ALIVE_MS,
      'grpc.keepalive_timeout_ms': KEEP_ALIVE_TIMEOUT_MS,
      // Clients of one process whose options are equal share connections; this one is among them.
      'grpc.primary_user_agent': `moorage-${options.connectionName ?? 'calls'}`,
      ...storeNameOption(options.credentials),
      // By default a member that was away for long is tried again only every 2 minutes.
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 1_000,
      'grpc-node.flow_control_window': WINDOW_BYTES,
      'grpc.max_receive_message_length': MESSAGE_BYTES_MAX,
      'grpc.max_send_message_length': MESSAGE_BYTES_MAX,
    },
  });
}
