import type { TicketBody } from '../../src/core/quota/ticket.ts';
import type { TicketSigner, TicketVerifier } from '../../src/ports/crypto.ts';
import type { History } from '../history/history.ts';

const HEAD = 'sim-ticket';

/** Tickets without keys, since no actor of a simulation forges one: their text is the permission and its audience. */
export function simSigner(arbiter: string, history: History, nowMs: () => number): TicketSigner {
  return {
    sign: (body) => {
      history.add('grants', { arbiter, body, arbiterNowMs: nowMs() });
      return Promise.resolve(`${HEAD} ${body.aud} ${String(body.hostIncarnation)} ${JSON.stringify(body)}`);
    },
  };
}

export const simVerifier: TicketVerifier = {
  verify: (token, host, hostIncarnation) => {
    const body = ticketBodyOf(token);
    if (body === null) return Promise.resolve({ valid: false, reason: 'malformed' });
    const assertion = `${HEAD} ${host} ${String(hostIncarnation)} `;
    if (!token.startsWith(assertion)) return Promise.resolve({ valid: false, reason: 'bad-signature' });
    return Promise.resolve({ valid: true, body });
  },
};

/** The body of the ticket; null: it is none. */
export function ticketBodyOf(token: string): TicketBody | null {
  if (!token.startsWith(`${HEAD} `)) return null;
  return JSON.parse(token.slice(token.indexOf('{'))) as TicketBody;
}
