import { readFileSync } from 'node:fs';
import { noop } from 'cockatiel';
import { DirectEtcd } from './direct-client.ts';
import { Members } from './members.ts';

export interface EtcdClientOptions {
  /** `http://127.0.0.1:2379`; one or several members of one cluster. */
  readonly endpoints: readonly string[];
  /** Of every single call. Longer than an election (1 s) with its retries, shorter than a person's patience. */
  readonly callTimeoutMs?: number;
  /** How long a connection may be silent before the peer is asked whether it is there. */
  readonly keepAliveMs?: number;
  /** Clients of another name have connections of their own, so that what holds one up does not hold up the other. */
  readonly connectionName?: string;
  /** PEM files for TLS; without them the scheme of the endpoints decides. */
  readonly tls?: { readonly caFile: string; readonly certFile?: string; readonly keyFile?: string };
}

const CALL_TIMEOUT_MS = 5_000;
/** Servers end connections on which they are asked more often than every 5 s. */
const KEEP_ALIVE_MS = 6_000;
const KEEP_ALIVE_TIMEOUT_MS = 2_000;
/** The default of 4 MiB fails on a page of large records. Pages that are larger still are read again in halves. */
const MESSAGE_BYTES_MAX = 64 * 1024 * 1024;

/**
 * So much may be on its way to us before we have read any of it, on a connection and on each stream of it. With the default
 * of 64 KiB a burst comes in as many turns of the event loop as it has times 64 KiB: each lets go only one more such part.
 */
const WINDOW_BYTES = 4 * 1024 * 1024;

/**
 * A client that hides nothing: no call is sent twice, and none waits for ever.
 *
 * By default this client re-sends any recoverable failure three times, transactions included, so that a commit whose reply
 * was lost comes back as "compare failed" though it was applied; and its circuit breaker, opened by one `no space`, stops
 * reads too. Both are replaced: a member that does not answer is passed over for a while, and that is all. What a fault
 * means is decided by whoever made the call.
 */
export function etcdClient(options: EtcdClientOptions): DirectEtcd {
  const members = new Members(() => performance.now());
  const credentials = options.tls === undefined ? undefined : readCredentials(options.tls);
  return new DirectEtcd({
    hosts: [...options.endpoints],
    faultHandling: { host: () => (options.endpoints.length > 1 ? members.add() : noop), global: noop },
    callTimeoutMs: options.callTimeoutMs ?? CALL_TIMEOUT_MS,
    grpcOptions: {
      // grpc-js has retries of its own, below those of the client.
      'grpc.enable_retries': 0,
      'grpc.keepalive_time_ms': options.keepAliveMs ?? KEEP_ALIVE_MS,
      'grpc.keepalive_timeout_ms': KEEP_ALIVE_TIMEOUT_MS,
      // Connections are shared between all clients in the process whose options are the same, this one among them.
      'grpc.primary_user_agent': `moorage-${options.connectionName ?? 'calls'}`,
      // By default a member that was away for long is tried again only every 2 minutes.
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 1_000,
      'grpc-node.flow_control_window': WINDOW_BYTES,
      'grpc.max_receive_message_length': MESSAGE_BYTES_MAX,
      'grpc.max_send_message_length': MESSAGE_BYTES_MAX,
    },
    ...(credentials === undefined ? {} : { credentials }),
  });
}

function readCredentials(tls: NonNullable<EtcdClientOptions['tls']>): {
  rootCertificate: Buffer;
  certChain?: Buffer;
  privateKey?: Buffer;
} {
  return {
    rootCertificate: readFileSync(tls.caFile),
    ...(tls.certFile === undefined ? {} : { certChain: readFileSync(tls.certFile) }),
    ...(tls.keyFile === undefined ? {} : { privateKey: readFileSync(tls.keyFile) }),
  };
}
