import type { TicketOutcome } from '../../src/clients/arbiter-client.ts';
import type { Host } from '../../src/core/host/host.ts';
import { jobKeyOf } from '../../src/core/cell/ids.ts';
import type { StartTerms } from '../../src/core/quota/ticket.ts';
import { FINAL_GRANT_REFUSALS } from '../../src/wire/api/arbiter-api.ts';
import type { DecidedPlan } from '../state/decided-plan.ts';
import type { Entry, OwnedJob } from '../state/owned-job.ts';
import type { Term } from '../state/state.ts';
import type { Launches } from './start-terms.ts';
import { orderedBy, startTermsOf } from './start-terms.ts';
import type { TicketClient } from './ticket-client.ts';

/** Of many placements: what was granted longer ago says nothing any more of what would be granted now. */
const GRANTED_KEPT_MS = 2_000;
/** A ticket that ends sooner than this would expire on its way to the host. */
const TICKET_MARGIN_MS = 2_000;

/**
 * When tickets are asked for: before the commit of a plan, for all of it (`commit.ts`), so that nothing is claimed that may not start;
 * and before a start whose ticket is missing or about to expire (`hosts/starter.ts`): after a take-over, and where the start waited anyway
 * (`mayWait`). A grant counts against its quota until the host reports the allocation, or else until 38 s are over
 * (`arbiter/grant-book.ts`), so none is asked for before the placement is assumed.
 */
export class Tickets {
  readonly #term: Term;
  readonly #launches: Launches;
  readonly #client: TicketClient;

  constructor(term: Term, launches: Launches, client: TicketClient) {
    this.#term = term;
    this.#launches = launches;
    this.#client = client;
  }

  /**
   * May the tickets of these placements be asked for when their starts go out? The time in which another scheduler can take their places
   * ends sooner, and no ticket grows old meanwhile. Only where nothing speaks against a grant.
   */
  mayWait({ namespace }: OwnedJob): boolean {
    return this.#client.grantsAll(namespace, GRANTED_KEPT_MS);
  }

  /**
   * The same for the single job of an idle scheduler: what was granted last is answer enough, however long ago. Where no arbiter is there
   * any more the job waits for its ticket, and those after it for their placement.
   */
  mayFollow({ namespace }: OwnedJob): boolean {
    return this.#client.grantsAll(namespace, Infinity);
  }

  /** Has the namespace a quota, by what an arbiter said last? */
  isLimited({ namespace }: OwnedJob): boolean {
    return this.#client.isLimited(namespace);
  }

  /** A commit found that it has: tickets come before the next one. */
  hasQuota({ namespace }: OwnedJob): void {
    this.#client.askFirst(namespace);
  }

  /**
   * Members of an `all-or-nothing` plan get their tickets together or not at all: a part would only keep quota from other jobs.
   * @returns one outcome for each entry, in their order
   */
  forPlan(job: OwnedJob, plan: DecidedPlan): Promise<readonly TicketOutcome[]> {
    const { entries, atomicity, traceparent = job.record.traceparent } = plan;
    return this.#traced(job.key, traceparent, async (of) => {
      if (atomicity === 'all-or-nothing') return await this.#together(job, entries, of);
      return (await Promise.all(entries.map((entry) => this.#together(job, [entry], of)))).flat();
    });
  }

  /** Renews the entry's ticket if its start needs one. @returns why it has none, and may have none later; null: it has one */
  async forStart(
    entry: Entry,
    host: Host,
    digest: string,
    traceparent: string | undefined,
  ): Promise<'unanswered' | { readonly refused: string } | null> {
    const { options, world } = this.#term;
    if (!options.enforcement) return null;
    if (entry.ticket !== null && entry.ticket.expiresMs - world.clock.nowMs() > TICKET_MARGIN_MS) return null;
    entry.stage = 'ticket';
    const { allocation } = entry;
    const terms = startTermsOf(orderedBy(options.id, allocation), host, digest);
    const jobKey = jobKeyOf(allocation.namespace, allocation.job);
    const [answer] = await this.#traced(jobKey, traceparent, (of) => this.#client.ask([terms], of));
    if (answer === undefined || 'unanswered' in answer) return 'unanswered';
    if ('refusal' in answer) {
      const { code, detail } = answer.refusal;
      return FINAL_GRANT_REFUSALS.has(code) ? { refused: `${code}: ${detail}` } : 'unanswered';
    }
    entry.ticket = { text: answer.ticket, expiresMs: answer.expiresMs };
    return null;
  }

  /** @param traceparent of the trace that records it */
  async #traced(
    job: string,
    traceparent: string | undefined,
    ask: (traceparent: string | undefined) => Promise<readonly TicketOutcome[]>,
  ): Promise<readonly TicketOutcome[]> {
    const span = this.#term.world.tracer?.begin('ticket', traceparent) ?? null;
    const answers = await ask(span?.traceparent ?? traceparent);
    const refused = answers.filter((answer) => !('ticket' in answer)).length;
    span?.end({ job, placements: answers.length, refused });
    return answers;
  }

  #together(
    job: OwnedJob,
    entries: readonly Entry[],
    traceparent: string | undefined,
  ): Promise<readonly TicketOutcome[]> {
    const unit = entries.map((entry) => this.#termsOf(job, entry)).filter((terms) => terms !== null);
    if (unit.length === entries.length) return this.#client.ask(unit, traceparent);
    return Promise.resolve(
      entries.map(({ allocation: { id } }) => ({ id, unanswered: 'the host has left' })),
    );
  }

  /** null: the host has left, or the spec of the allocation's version is gone. */
  #termsOf(job: OwnedJob, { allocation }: Entry): StartTerms | null {
    const host = this.#term.cell.state.hostOf(allocation.host);
    const launch = this.#launches.of(job, allocation);
    return host === undefined || launch === null ? null : startTermsOf(allocation, host, launch.digest);
  }
}
