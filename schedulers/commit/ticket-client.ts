import type { ArbiterClient, TicketOutcome } from '../../src/clients/arbiter-client.ts';
import type { RoleRecord } from '../../src/core/cell/cell.ts';
import type { StartTerms } from '../../src/core/quota/ticket.ts';
import { Table } from '../../src/runtime/records/records.ts';
import { PLACEMENTS_MAX } from '../../src/wire/api/arbiter-api.ts';
import { roleCodec } from '../../src/wire/records/records.ts';
import { Batches } from '../state/batches.ts';
import type { SchedulerWorld } from '../state/state.ts';

const REQUESTS_MAX = 4;
/** Arbiters asked before giving up; a grant that was made and whose answer was lost expires by itself. */
const ARBITERS_MAX = 3;

interface Waiting {
  readonly unit: readonly StartTerms[];
  readonly traceparent: string | undefined;
  readonly answer: (answers: readonly TicketOutcome[]) => void;
}

/** Asks arbiters for tickets; what several decisions want goes into one request. */
export class TicketClient {
  readonly ready: Promise<void>;
  readonly #world: SchedulerWorld;
  readonly #scheduler: string;
  readonly #client: ArbiterClient;
  readonly #arbiters: Table<RoleRecord>;
  /** By namespace without a quota: when an arbiter last granted all that a request wanted of it (monotonic). */
  readonly #grantedAtMs = new Map<string, number>();
  readonly #waiting: Waiting[] = [];
  readonly #requests = new Batches(
    REQUESTS_MAX,
    () => this.#waiting.length > 0,
    () => this.#request(this.#nextTogether()),
  );

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
   * @param unit all of it is granted or none; a unit larger than a request goes in parts
   * @param traceparent of the trace that it belongs to
   * @returns one outcome for each, in their order
   */
  ask(unit: readonly StartTerms[], traceparent?: string): Promise<readonly TicketOutcome[]> {
    return new Promise((answer) => {
      this.#waiting.push({ unit, traceparent, answer });
      this.#requests.schedule();
    });
  }

  /**
   * An arbiter granted all that was asked for last in this namespace, which has no quota: it would grant more.
   * @param keptMs so long ago at most
   */
  grantsAll(namespace: string, keptMs: number): boolean {
    const atMs = this.#grantedAtMs.get(namespace);
    return atMs !== undefined && this.#world.clock.monotonicMs() - atMs <= keptMs;
  }

  /** An arbiter said last that it has a quota. */
  isLimited(namespace: string): boolean {
    return this.#client.isLimited(namespace);
  }

  /** What was granted in this namespace says nothing of what would be granted now. */
  askFirst(namespace: string): void {
    this.#grantedAtMs.delete(namespace);
  }

  close(): void {
    this.#arbiters.close();
  }

  /**
   * As many units as one request takes, or one unit that takes several requests: of namespaces with a quota, or of those
   * without, which need not wait for them.
   */
  #nextTogether(): readonly Waiting[] {
    const isLimited = ({ unit: [first] }: Waiting): boolean => this.#client.isLimited(first?.namespace ?? '');
    const [first] = this.#waiting;
    const wanted = first !== undefined && isLimited(first);
    const together: Waiting[] = [];
    let placements = 0;
    for (const waiting of this.#waiting) {
      if (isLimited(waiting) !== wanted) continue;
      placements += waiting.unit.length;
      if (placements > PLACEMENTS_MAX && together.length > 0) break;
      together.push(waiting);
    }
    const taken = new Set(together);
    this.#waiting.splice(0, this.#waiting.length, ...this.#waiting.filter((one) => !taken.has(one)));
    return together;
  }

  async #request(batch: readonly Waiting[]): Promise<void> {
    const units = batch.map(({ unit }) => unit);
    const traces = batch.map(({ traceparent }) => traceparent);
    const answers = await this.#client.tickets(this.#addresses(), this.#scheduler, units, traces);
    this.#note(units, answers);
    for (const [i, { answer }] of batch.entries()) answer(answers[i] ?? []);
  }

  #note(units: readonly (readonly StartTerms[])[], answers: readonly (readonly TicketOutcome[])[]): void {
    const nowMs = this.#world.clock.monotonicMs();
    const refused = new Set<string>();
    for (const [i, unit] of units.entries()) {
      const namespace = unit[0]?.namespace ?? '';
      const isGranted = answers[i]?.every((answer) => 'ticket' in answer) ?? false;
      if (!isGranted || this.#client.isLimited(namespace)) refused.add(namespace);
      else this.#grantedAtMs.set(namespace, nowMs);
    }
    for (const namespace of refused) this.#grantedAtMs.delete(namespace);
  }

  /** From a random start, so that schedulers spread over the arbiters. */
  #addresses(): readonly string[] {
    const all = [...this.#arbiters.rows()].map(([, row]) => row.value.address);
    const first = all.length === 0 ? 0 : this.#world.random.below(all.length);
    return [...all.slice(first), ...all.slice(0, first)].slice(0, ARBITERS_MAX);
  }
}
