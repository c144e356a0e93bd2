import { sha256Hex } from '../../src/adapters/system/digest.ts';
import { ticketSigner } from '../../src/adapters/tickets/tickets.ts';
import { canonicalJson } from '../../src/core/json/canonical-json.ts';
import type { TicketBody } from '../../src/core/quota/ticket.ts';
import { claimOf } from '../../src/core/quota/ticket.ts';
import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { TicketSigner } from '../../src/ports/crypto.ts';
import type { StartRequest } from '../../src/wire/api/host-api.ts';
import { someStart, someTask } from './host-orders.ts';
import { OTHER_KEYS } from './ticket-keys.ts';

/** Starts that a host must refuse, each for one reason. */

const STRANGER = ticketSigner(OTHER_KEYS.signing);
const MINUTE_MS = 60_000;
/** Of `rightBody`. */
export const TICKET_TTL_MS = MINUTE_MS;
/** Beyond what clocks may differ by. */
const OFF_MS = 5_000;

export interface Bad {
  readonly kind: string;
  readonly order: StartRequest;
  readonly refusal: RegExp;
}

interface Kind {
  readonly signer?: TicketSigner;
  /** What the arbiter, or who plays it, signs instead of what is right. */
  readonly body?: (right: TicketBody) => Partial<TicketBody>;
  /** What is sent instead of what the ticket is for. */
  readonly order?: (order: StartRequest) => StartRequest;
  /** What is done to the ticket's text. @param n counts on */
  readonly text?: (ticket: string, n: number) => string | null;
  /** Code and detail of the answer. */
  readonly refusal: RegExp;
}

const claims =
  (allocation: (order: StartRequest) => Partial<Allocation>) =>
  (order: StartRequest): StartRequest => ({
    ...order,
    allocation: { ...order.allocation, ...allocation(order) },
  });

const OTHER_REQUEST = /^ticket-other-request: .*: other-request$/;
const BAD_SIGNATURE = /^ticket-invalid: .*: bad-signature$/;

/**
 * @param pinned the name of the key that the host trusts
 * @param usedJti of a ticket that has started something
 */
export function badKinds(pinned: string, usedJti: string): Readonly<Record<string, Kind>> {
  const forger = ticketSigner({ id: pinned, secret: OTHER_KEYS.signing.secret });
  return {
    'no ticket': { text: () => null, refusal: /^ticket-missing: / },
    'an altered character': { text: altered, refusal: /^ticket-invalid: / },
    'cut off': { text: (ticket, n) => ticket.slice(0, n % ticket.length), refusal: /^ticket-invalid: / },
    'in another spelling': {
      text: (ticket) => ticket.replace('.', '.0'),
      refusal: /^ticket-invalid: .*: malformed$/,
    },
    'the token of its root alone': {
      text: (ticket) => ticket.split('.').slice(4).join('.'),
      refusal: /^ticket-invalid: .*: unknown-format$/,
    },
    "a stranger's key": { signer: STRANGER, refusal: /^ticket-invalid: .*: unknown-key$/ },
    "a stranger's key under a pinned name": { signer: forger, refusal: BAD_SIGNATURE },
    'for another host': { body: () => ({ aud: 'host-b' }), refusal: BAD_SIGNATURE },
    'for the host as it was before': {
      body: ({ hostIncarnation }) => ({ hostIncarnation: hostIncarnation + 1 }),
      refusal: BAD_SIGNATURE,
    },
    'with a claim on another host': {
      body: ({ claim }) => ({ claim: { ...claim, host: 'host-b' } }),
      refusal: /^ticket-other-host: .*: wrong-host$/,
    },
    'an order for another host': {
      order: claims(() => ({ host: 'host-b' })),
      refusal: /^ticket-other-host: this is host host-a, not host-b$/,
    },
    expired: {
      body: () => ({ notBeforeMs: Date.now() - MINUTE_MS, expiresMs: Date.now() - OFF_MS }),
      refusal: /^ticket-expired: .*: expired$/,
    },
    'not valid yet': {
      body: () => ({ notBeforeMs: Date.now() + MINUTE_MS, expiresMs: Date.now() + 2 * MINUTE_MS }),
      refusal: /^ticket-invalid: .*: not-yet-valid$/,
    },
    'used before, for another start': {
      body: () => ({ jti: usedJti }),
      refusal: /^ticket-used: this ticket was used for another start$/,
    },
    'of another allocation': {
      body: ({ claim }) => ({ claim: { ...claim, id: `${claim.id}x` } }),
      refusal: OTHER_REQUEST,
    },
    'more memory': {
      order: claims(({ allocation: { resources } }) => ({ resources: { ...resources, memoryMib: 65 } })),
      refusal: OTHER_REQUEST,
    },
    'a port more': { order: claims(() => ({ ports: { http: 20_001 } })), refusal: OTHER_REQUEST },
    'another namespace': { order: claims(() => ({ namespace: 'other' })), refusal: OTHER_REQUEST },
    'another epoch': {
      order: claims(({ allocation: { epoch } }) => ({ epoch: { ...epoch, counter: epoch.counter + 1 } })),
      refusal: OTHER_REQUEST,
    },
    'another command': {
      order: (order) => ({
        ...order,
        launch: { ...order.launch, tasks: { main: someTask({ command: ['touch', '/etc/owned'] }) } },
      }),
      refusal: OTHER_REQUEST,
    },
    'of another scheduler': {
      order: claims(() => ({ scheduler: 'batch-1' })),
      refusal: /^not-yours: a start in the name of another scheduler$/,
    },
  };
}

/** The ticket that lets a host do what is ordered. */
export function rightBody({ allocation, launch }: StartRequest, hostIncarnation: number): TicketBody {
  return {
    jti: `t-${allocation.id}`,
    ...{ aud: 'host-a', hostIncarnation },
    notBeforeMs: Date.now(),
    expiresMs: Date.now() + TICKET_TTL_MS,
    ...{ namespace: allocation.namespace, job: allocation.job, scheduler: allocation.scheduler },
    ...{ epoch: allocation.epoch, claim: claimOf(allocation) },
    commandDigest: sha256Hex(canonicalJson(launch)),
  };
}

/** One start of each kind. @param round counts on, so that no two of them are the same */
export async function badStarts(
  arbiter: TicketSigner,
  kinds: Readonly<Record<string, Kind>>,
  hostIncarnation: number,
  round: number,
): Promise<readonly Bad[]> {
  const made: { readonly name: string; readonly kind: Kind; readonly order: StartRequest }[] = [];
  for (const [name, kind] of Object.entries(kinds)) made.push({ name, kind, order: someStart() });
  const bodies = made.map(({ kind, order }) => {
    const right = rightBody(order, hostIncarnation);
    return { ...right, ...kind.body?.(right) };
  });
  // As an arbiter does it: one signature for all; of strangers one each.
  const tickets = await arbiter.sign(bodies);
  return Promise.all(
    made.map(async ({ name, kind, order }, n) => {
      const [own = ''] = kind.signer === undefined ? [tickets[n]!] : await kind.signer.sign([bodies[n]!]);
      const ticket = kind.text === undefined ? own : kind.text(own, round);
      return { kind: name, order: { ...(kind.order?.(order) ?? order), ticket }, refusal: kind.refusal };
    }),
  );
}

/** At another place each time; what separates its parts is altered too. */
function altered(ticket: string, n: number): string {
  const at = (n * 7919) % ticket.length;
  return ticket.slice(0, at) + (ticket[at] === 'A' ? 'B' : 'A') + ticket.slice(at + 1);
}
