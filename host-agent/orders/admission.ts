import type { Allocation } from '../../src/core/cell/allocation.ts';
import { canonicalJson } from '../../src/core/json/canonical-json.ts';
import type { Host } from '../../src/core/host/host.ts';
import type { StartTerms, TicketBody, TicketRefusal } from '../../src/core/quota/ticket.ts';
import { claimOf, ticketRefusal } from '../../src/core/quota/ticket.ts';
import type { Digest, TicketVerifier } from '../../src/ports/crypto.ts';
import type { Launch, StartRefusal, StartRequest } from '../../src/wire/api/host-api.ts';
import { START_REFUSALS } from '../../src/wire/api/host-api.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { Journal } from '../state/journal.ts';

const STATUS: Readonly<Record<StartRefusal, number>> = {
  'ticket-missing': 403,
  'ticket-invalid': 403,
  'ticket-expired': 403,
  'ticket-other-host': 403,
  'ticket-other-request': 403,
  'ticket-used': 403,
  'epoch-old': 409,
  'no-fit': 409,
  'port-taken': 409,
  'disk-full': 507,
  leaking: 503,
  'not-allowed': 403,
  'bad-request': 400,
  stopped: 409,
};

/** The answer to a start that is not done. */
export function refusal(
  code: StartRefusal,
  detail: string,
  extra?: Readonly<Record<string, unknown>>,
): ProblemError {
  return new ProblemError({ status: STATUS[code], code, detail, ...(extra === undefined ? {} : { extra }) });
}

/** A ticket that permits a start, and what must be recorded so that it does so only once. */
export interface Permit {
  readonly jti: string;
  readonly digest: string;
  readonly expiresMs: number;
}

export interface AdmissionDeps {
  readonly journal: Journal;
  /** null: this cell enforces no tickets. */
  readonly verifier: TicketVerifier | null;
  readonly digest: Digest;
  host(): Host;
}

const REFUSAL_OF: Readonly<Record<TicketRefusal, StartRefusal>> = {
  'wrong-host': 'ticket-other-host',
  'wrong-incarnation': 'ticket-other-host',
  'not-yet-valid': 'ticket-invalid',
  expired: 'ticket-expired',
  'other-request': 'ticket-other-request',
  'used-by-another-request': 'ticket-used',
};

/** Whether a start is permitted at all; whether there is room for it is the ledger's business. */
export class Admission {
  readonly #deps: AdmissionDeps;
  /** Of launches being checked: both what tells an order from another one and what its ticket must say depend on it. */
  readonly #commandDigests = new WeakMap<Launch, string>();

  constructor(deps: AdmissionDeps) {
    this.#deps = deps;
  }

  /** What tells a repeated order from another one under the same id. Who orders it does not matter. */
  digestOf(request: StartRequest): string {
    const { namespace, job } = request.allocation;
    const { digest } = this.#deps;
    return digest(
      canonicalJson({
        claim: claimOf(request.allocation),
        namespace,
        job,
        command: this.#commandDigest(request.launch),
      }),
    );
  }

  /**
   * Order of the checks: is this the host → signature → the ticket's host and incarnation → time → equality with the request →
   * epoch → fenced id → used before.
   * @returns what to record; null where no tickets are needed
   * @throws ProblemError
   */
  async check(request: StartRequest, requestDigest: string): Promise<Permit | null> {
    const { allocation } = request;
    const { journal } = this.#deps;
    if (allocation.host !== this.#deps.host().id)
      throw refusal('ticket-other-host', `this is host ${this.#deps.host().id}, not ${allocation.host}`);
    const body = await this.#verify(request);
    if (journal.isOld(allocation.epoch))
      throw refusal('epoch-old', 'this host has seen orders of a later epoch');
    if (journal.isFenced(allocation.id)) throw this.#fencedRefusal(allocation.id);
    if (body === null) return null;
    const used = journal.ticketUseOf(body.jti);
    if (used !== undefined && used !== requestDigest)
      throw refusal('ticket-used', 'this ticket was used for another start');
    return { jti: body.jti, digest: requestDigest, expiresMs: body.expiresMs };
  }

  /** Who was refused before gets the same answer. */
  #fencedRefusal(id: string): ProblemError {
    const before = this.#deps.journal.refusalOf(id);
    const code = START_REFUSALS.find((one) => one === before?.code);
    return before !== undefined && code !== undefined
      ? refusal(code, before.detail, before.extra)
      : refusal('stopped', 'this allocation was stopped or removed before');
  }

  async #verify(request: StartRequest): Promise<TicketBody | null> {
    const { verifier, journal } = this.#deps;
    if (verifier === null) return null;
    if (request.ticket === null) throw refusal('ticket-missing', 'this cell starts nothing without a ticket');
    const { id, incarnation } = this.#deps.host();
    const verified = await verifier.verify(request.ticket, id, incarnation);
    if (!verified.valid) throw refusal('ticket-invalid', `the ticket is not valid here: ${verified.reason}`);
    const why = ticketRefusal(
      verified.body,
      this.#termsOf(request.allocation, request.launch),
      journal.nowMs(),
    );
    if (why !== null) throw refusal(REFUSAL_OF[why], `the ticket does not permit this start: ${why}`);
    return verified.body;
  }

  #termsOf(allocation: Allocation, launch: Launch): StartTerms {
    const { id, incarnation } = this.#deps.host();
    return {
      aud: id,
      hostIncarnation: incarnation,
      namespace: allocation.namespace,
      job: allocation.job,
      scheduler: allocation.scheduler,
      epoch: allocation.epoch,
      claim: claimOf(allocation),
      commandDigest: this.#commandDigest(launch),
    };
  }

  #commandDigest(launch: Launch): string {
    let known = this.#commandDigests.get(launch);
    if (known === undefined)
      this.#commandDigests.set(launch, (known = this.#deps.digest(canonicalJson(launch))));
    return known;
  }
}
