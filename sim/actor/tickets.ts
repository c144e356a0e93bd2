import type { TicketBody } from '../../src/core/quota/ticket.ts';
import type { TicketSigner, TicketVerifier } from '../../src/ports/crypto.ts';
import type { History } from '../history/history.ts';

const HEAD = 'sim-ticket';

/** Tickets without keys, since no actor of a simulation forges one: their text is the permission and its audience. */
export function simSigner(arbiter: string, history: History, nowMs: () => number): TicketSigner {
  return {
    sign: (bodies) => {
      const arbiterNowMs = nowMs();
      for (const body of bodies) history.add('grants', { arbiter, body, arbiterNowMs });
      return Promise.resolve(bodies.map(textOf));
    },
  };
}

function textOf(body: TicketBody): string {
  return `${HEAD} ${body.aud} ${String(body.hostIncarnation)} ${JSON.stringify(body)}`;
}

export const simVerifier: TicketVerifier = {
  verify: (ticket, host, hostIncarnation) => {
    const body = ticketBodyOf(ticket);
    if (body === null) return Promise.resolve({ valid: false, reason: 'unknown-format' });
    const assertion = `${HEAD} ${host} ${String(hostIncarnation)} `;
    if (!ticket.startsWith(assertion)) return Promise.resolve({ valid: false, reason: 'bad-signature' });
    return Promise.resolve({ valid: true, body });
  },
};

/** The body of the ticket; null: it is none. */
export function ticketBodyOf(ticket: string): TicketBody | null {
  if (!ticket.startsWith(`${HEAD} `)) return null;
  return JSON.parse(ticket.slice(ticket.indexOf('{'))) as TicketBody;
}
