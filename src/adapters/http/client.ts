import type { HttpClient } from '../../ports/http.ts';
import { Agent, request } from 'undici';
import type { Incoming, Outgoing } from './client-core.ts';
import { clientOver } from './client-core.ts';
import { flatHeaders } from './request-values.ts';

export interface UndiciClientOptions {
  /** Connections to one peer; each stream holds one for as long as it is open. */
  readonly connectionsPerPeerMax?: number;
}

const CONNECTIONS_PER_PEER_MAX = 256;
const CONNECT_TIMEOUT_MS = 2_000;

/**
 * The HTTP client of the roles: one pool of connections for all peers. It never retries and never follows a redirect: only
 * the caller knows whether a second call is safe.
 */
export function undiciClient(options: UndiciClientOptions = {}): HttpClient {
  const agent = new Agent({
    connections: options.connectionsPerPeerMax ?? CONNECTIONS_PER_PEER_MAX,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    pipelining: 1,
    // Each call has its own deadline; the pool's would cut streams that are silent for a while.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const send = async (url: string, outgoing: Outgoing): Promise<Incoming> => {
    const answer = await request(url, {
      dispatcher: agent,
      method: outgoing.method,
      headers: outgoing.headers,
      body: outgoing.body,
      signal: outgoing.signal,
    });
    return { status: answer.statusCode, headers: flatHeaders(answer.headers), chunks: answer.body };
  };
  return clientOver(send, () => agent.destroy());
}
