import type { HttpClient } from '../../ports/http.ts';
import type { IdentityRole } from '../../core/access/identity.ts';
import { Agent, buildConnector, request } from 'undici';
import type { Credentials } from '../pki/credentials.ts';
import { clientTls } from '../pki/tls.ts';
import { callBatches } from './call-batches.ts';
import { isPlain, plainError } from './call-faults.ts';
import type { Incoming, Outgoing } from './client-core.ts';
import { clientOver } from './client-core.ts';
import { flatHeaders } from './request-values.ts';

export interface UndiciClientOptions {
  /** Connections to one peer; each stream holds one for as long as it is open. */
  readonly connectionsPerPeerMax?: number;
  /** With them it calls peers of the cell only, over TLS, and shows its certificate. */
  readonly credentials?: Credentials | undefined;
}

const CONNECTIONS_PER_PEER_MAX = 256;
const CONNECT_TIMEOUT_MS = 2_000;

/**
 * The HTTP client of the roles: one pool of connections for all peers. It never follows a redirect, and retries nothing but a
 * read whose connection ended: only the caller knows whether a second call is safe.
 */
export function undiciClient(options: UndiciClientOptions = {}): HttpClient {
  const { credentials } = options;
  /** By the role that must answer: a connection is to one server, which is checked when it is opened. */
  const agents = new Map<IdentityRole | undefined, Agent>();
  const agentTo = (to: IdentityRole | undefined): Agent => {
    const known = agents.get(to);
    if (known !== undefined) return known;
    const agent = new Agent({
      connections: options.connectionsPerPeerMax ?? CONNECTIONS_PER_PEER_MAX,
      connect: credentials === undefined ? { timeout: CONNECT_TIMEOUT_MS } : connector(credentials, to),
      pipelining: 1,
      // Each call has its own deadline; the pool's would cut streams that are silent for a while.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    agents.set(to, agent);
    return agent;
  };
  const send = async (url: string, outgoing: Outgoing): Promise<Incoming> => {
    if (credentials !== undefined && isPlain(url)) throw plainError(url);
    const answer = await request(url, {
      dispatcher: agentTo(credentials === undefined ? undefined : outgoing.to),
      method: outgoing.method,
      headers: outgoing.headers,
      body: outgoing.body,
      signal: outgoing.signal,
    });
    return { status: answer.statusCode, headers: flatHeaders(answer.headers), chunks: answer.body };
  };
  const client = clientOver(send, async () => {
    await Promise.all([...agents.values()].map((agent) => agent.destroy()));
  });
  return { ...client, call: callBatches((call) => client.call(call), send) };
}

/**
 * Connections that are opened after a renewal show the new certificate. No session is resumed: undici knows servers by their host
 * alone, so that those of one machine would be shown each other's sessions, which none of them can read.
 */
function connector(credentials: Credentials, to: IdentityRole | undefined): buildConnector.connector {
  const build = (): buildConnector.connector =>
    buildConnector({ timeout: CONNECT_TIMEOUT_MS, maxCachedSessions: 0, ...clientTls(credentials, to) });
  let now = credentials.now;
  let connect = build();
  return (options, callback) => {
    if (credentials.now !== now) {
      now = credentials.now;
      connect = build();
    }
    connect(options, callback);
  };
}
