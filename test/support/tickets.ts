import type { StartTerms, TicketBody } from '../../src/core/quota/ticket.ts';

/** Terms that nothing is wrong with, and the ticket for exactly them. */
export function someTerms(changes: Partial<StartTerms> = {}): StartTerms {
  const aud = changes.aud ?? 'host-a';
  return {
    aud,
    hostIncarnation: 3,
    namespace: 'default',
    job: 'web',
    scheduler: 'service-1',
    epoch: { incarnation: '6e0e2a3e-8a30-4d2c-9c6a-0d8f7a0a4c11', counter: 0 },
    claim: {
      id: '01k0000000aaaaaaaaaaaaaaaa',
      host: aud,
      precedence: 50,
      resources: { cpuMilli: 500, memoryMib: 256, diskMib: 0, scalars: {} },
      gpus: [{ device: 0, milli: 500 }],
      ports: { http: 20_001 },
    },
    commandDigest: 'ab'.repeat(32),
    ...changes,
  };
}

export const TICKET_BEGINS_MS = 1_700_000_000_000;
export const TICKET_ENDS_MS = TICKET_BEGINS_MS + 30_000;

export function someTicket(changes: Partial<TicketBody> = {}): TicketBody {
  const body = {
    jti: '01k0000000bbbbbbbbbbbbbbbb',
    notBeforeMs: TICKET_BEGINS_MS,
    expiresMs: TICKET_ENDS_MS,
  };
  return { ...someTerms(), ...body, ...changes };
}
