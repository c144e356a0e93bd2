import type { HttpClient } from '../../ports/http.ts';
import type { ClientCoreOptions, Incoming, Outgoing } from './client-core.ts';
import { clientOver } from './client-core.ts';

/** The same client over the built-in `fetch`, for the command line: nothing to load. */
export function fetchClient(options: ClientCoreOptions = {}): HttpClient {
  return clientOver(send, () => Promise.resolve(), options);
}

async function send(url: string, outgoing: Outgoing): Promise<Incoming> {
  const answer = await fetch(url, { ...outgoing, redirect: 'manual' });
  const chunks = (answer.body ?? nothing()) as AsyncIterable<Uint8Array>;
  return { status: answer.status, headers: Object.fromEntries(answer.headers), chunks };
}

async function* nothing(): AsyncGenerator<Uint8Array> {
  // An answer without a body.
}
