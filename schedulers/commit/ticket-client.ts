import type { ArbiterClient, TicketOutcome } from '../../src/clients/arbiter-client.ts';
import type { RoleRecord } from '../../src/core/cell/cell.ts';
import type { StartTerms } from '../../src/core/quota/ticket.ts';
import { Table } from '../../src/runtime/records/records.ts';
import { PLACEMENTS_MAX } from '../../src/wire/api/arbiter-api.ts';
import { roleCodec } from '../../src/wire/records/records.ts';
import type { SchedulerWorld } from '../state/state.ts';

const REQUESTS_MAX = 4;
/** Arbiters asked before giving up; a grant that was made and whose answer was lost expires by itself. */
const ARBITERS_MAX = 3;

interface Waiting {
  readonly unit: readonly StartTerms[];
  readonly answer: (answers: readonly TicketOutcome[]) => void;
}

/** Asks arbiters for tickets: what several decisions want goes into one request. */
export class TicketDesk {
  readonly ready: Promise<void>;
  readonly #world: SchedulerWorld;
  readonly #scheduler: string;
  readonly #client: ArbiterClient;
  readonly #arbiters: Table<RoleRecord>;
  readonly #waiting: Waiting[] = [];
  #requests = 0;
  #scheduled = false;

  constructor(world: SchedulerWorld, scheduler: string, client: ArbiterClient) {
    this.#world = world;
    this.#scheduler = scheduler;
    this.#client = client;
    this.#arbiters = new Table<RoleRecord>(world.store, `${world.keys.roles}arbiter/`, roleCodec, {
      onBadRecord: (error, key) => world.log.error({ key, error }, 'unreadable record'),
    });
    this.ready = this.#arbiters.ready;
  }

  /**
   * @param unit of which all are granted or none; one of more than a request takes, in parts
   * @returns one outcome for each, in their order
   */
  ask(unit: readonly StartTerms[]): Promise<readonly TicketOutcome[]> {
    return new Promise((answer) => {
      this.#waiting.push({ unit, answer });
      this.#schedule();
    });
  }

  close(): void {
    this.#arbiters.close();
  }

  /** In the next microtask, so that all that one turn asks for goes together. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    void Promise.resolve().then(() => {
      this.#scheduled = false;
      while (this.#requests < REQUESTS_MAX && this.#waiting.length > 0)
        void this.#request(this.#nextTogether());
    });
  }

  /** As many as one request takes, or one unit that takes several. */
  #nextTogether(): readonly Waiting[] {
    let placements = 0;
    const end = this.#waiting.findIndex(
      ({ unit }, n) => (placements += unit.length) > PLACEMENTS_MAX && n > 0,
    );
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }

  async #request(batch: readonly Waiting[]): Promise<void> {
    this.#requests += 1;
    try {
      const units = batch.map(({ unit }) => unit);
      const answers = await this.#client.tickets(this.#addresses(), this.#scheduler, units);
      for (const [i, { answer }] of batch.entries()) answer(answers[i] ?? []);
    } finally {
      this.#requests -= 1;
      if (this.#waiting.length > 0) this.#schedule();
    }
  }

  /** From a random start, so that schedulers spread over the arbiters. */
  #addresses(): readonly string[] {
    const all = [...this.#arbiters.rows()].map(([, row]) => row.value.address);
    const first = all.length === 0 ? 0 : this.#world.random.below(all.length);
    return [...all.slice(first), ...all.slice(0, first)].slice(0, ARBITERS_MAX);
  }
}
