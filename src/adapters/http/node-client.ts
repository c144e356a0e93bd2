import type { IncomingMessage } from 'node:http';
import * as http from 'node:http';
import type { HttpClient } from '../../ports/http.ts';
import type { Incoming, Outgoing } from './client-core.ts';
import { clientOver } from './client-core.ts';
import { flatHeaders } from './request-values.ts';

/**
 * The same client over Node's own module, for the command line: loaded in a third of the time of the built-in `fetch`, and
 * in a fraction of that of undici.
 */
export function nodeClient(): HttpClient {
  const agent = new http.Agent({ keepAlive: true });
  return clientOver(
    async (url, outgoing) => {
      if (!url.startsWith('https:')) return send(http, agent, url, outgoing);
      const https = await import('node:https');
      return send(https, https.globalAgent, url, outgoing);
    },
    async () => agent.destroy(),
  );
}

function send(
  { request }: Pick<typeof http, 'request'>,
  agent: http.Agent,
  url: string,
  { body, ...options }: Outgoing,
): Promise<Incoming> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { ...options, agent }, (answer: IncomingMessage) =>
      resolve({ status: answer.statusCode ?? 0, headers: flatHeaders(answer.headers), chunks: answer }),
    );
    // An error after the answer has begun is the answer's own too.
    sent.on('error', reject);
    sent.end(body ?? undefined);
  });
}
