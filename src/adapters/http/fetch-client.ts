import type { HttpClient } from '../../ports/http.ts';
import type { Incoming, Outgoing } from './client-core.ts';
import { clientOver } from './client-core.ts';

/** The same client over the built-in `fetch`, for the command line: no library to load. */
export function fetchClient(): HttpClient {
  return clientOver(send, () => Promise.resolve());
}

async function send(url: string, outgoing: Outgoing): Promise<Incoming> {
  const answer = await fetch(url, { ...outgoing, redirect: 'manual' });
  const chunks = (answer.body ?? []) as AsyncIterable<Uint8Array>;
  return { status: answer.status, headers: Object.fromEntries(answer.headers), chunks };
}
