/**
 * What is recorded of a run. The world writes it at its edges: the store, the kernels of hosts, the routes of agents, the signer of
 * arbiters, the clients. No role writes it, so that no checker has to believe the role that it checks.
 *
 * - `facts.ts`: facts about actors, clients, tickets, monitors' views and faults
 * - `host-facts.ts`: processes, ports, output and disks of a host, and the orders that it was given
 * - `store-facts.ts`: revisions, restores, and the calls of the store's clients
 */
import type { Attempt, AttemptReply, Change, Snapshot } from '../../src/ports/cell-store.ts';
import type {
  ActorFact,
  ApiAnswer,
  ApiCall,
  EventFact,
  ExitFact,
  GrantFact,
  ListingFact,
  NameFact,
  NemesisFact,
  OutputFact,
  PhaseFact,
  ViewFact,
} from './facts.ts';
import type { HostFact, OrderAnswer, OrderFact } from './host-facts.ts';
import type { RestoreFact, RevisionFact, StoreCall } from './store-facts.ts';

/** When something was recorded: `seq` orders all facts of a run, `atMs` is the world's true time. */
export interface Stamp {
  readonly seq: number;
  readonly atMs: number;
}
export type Stamped<T> = Stamp & { readonly fact: T };

export interface ApiRecord extends Stamp {
  readonly call: ApiCall;
  /** null while there is none: the client died, or the run ended before. */
  readonly answer: Stamped<ApiAnswer> | null;
}

export interface OrderRecord extends Stamp {
  readonly order: OrderFact;
  /** null: the agent died before it answered. */
  readonly answer: Stamped<OrderAnswer> | null;
}

/** Facts that are recorded as they are. */
interface Facts {
  readonly hosts: HostFact;
  readonly actors: ActorFact;
  readonly grants: GrantFact;
  readonly views: ViewFact;
  readonly listings: ListingFact;
  readonly events: EventFact;
  readonly exits: ExitFact;
  readonly outputs: OutputFact;
  readonly names: NameFact;
  readonly nemesis: NemesisFact;
}

type Open<T> = { -readonly [K in keyof T]: T[K] };

/** What a checker reads. */
export type RecordedHistory = { readonly [K in keyof Facts]: readonly Stamped<Facts[K]>[] } & {
  readonly revisions: readonly Stamped<RevisionFact>[];
  readonly storeCalls: readonly StoreCall[];
  readonly orders: readonly OrderRecord[];
  readonly calls: readonly ApiRecord[];
  readonly phases: readonly Stamped<PhaseFact>[];
  readonly restores: readonly Stamped<RestoreFact>[];
};

/**
 * All that is recorded of a run. Facts are only ever added; each is one plain object, and what it names (changes, requests, reports) is
 * kept by reference and must not be changed afterwards.
 */
export class History implements RecordedHistory {
  readonly revisions: Stamped<RevisionFact>[] = [];
  readonly storeCalls: StoreCall[] = [];
  readonly hosts: Stamped<HostFact>[] = [];
  readonly orders: Open<OrderRecord>[] = [];
  readonly actors: Stamped<ActorFact>[] = [];
  readonly calls: Open<ApiRecord>[] = [];
  readonly grants: Stamped<GrantFact>[] = [];
  readonly views: Stamped<ViewFact>[] = [];
  readonly listings: Stamped<ListingFact>[] = [];
  readonly events: Stamped<EventFact>[] = [];
  readonly exits: Stamped<ExitFact>[] = [];
  readonly outputs: Stamped<OutputFact>[] = [];
  readonly names: Stamped<NameFact>[] = [];
  readonly nemesis: Stamped<NemesisFact>[] = [];
  readonly phases: Stamped<PhaseFact>[] = [];
  readonly restores: Stamped<RestoreFact>[] = [];
  readonly #trueNowMs: () => number;
  #seq = 0;
  #generation = 0;
  readonly #askedMs = new WeakMap<Attempt, number>();

  /** @param trueNowMs the world's time in milliseconds, of which every host's clock may differ */
  constructor(trueNowMs: () => number) {
    this.#trueNowMs = trueNowMs;
  }

  /** How many facts there are; also the stamp of the last one. */
  get length(): number {
    return this.#seq;
  }

  /** A revision came to be. Call it in the order of revisions. @param attempt null: a session ended */
  revision(
    revision: number,
    actor: string | null,
    changes: readonly Change[],
    attempt: Attempt | null = null,
  ): void {
    const generation = this.#generation;
    const askedAtMs = attempt === null ? null : (this.#askedMs.get(attempt) ?? null);
    this.revisions.push(
      this.#stamped({ generation, revision, actor, changes, attempt, askedAtMs, isRestore: false }),
    );
  }

  /** The store became an older one of itself. @param changes by which it differs from what it was */
  restored({ revision, to }: Omit<RestoreFact, 'generation'>, changes: readonly Change[]): void {
    const generation = (this.#generation += 1);
    this.restores.push(this.#stamped({ generation, revision, to }));
    this.revisions.push(
      this.#stamped({
        generation,
        revision,
        actor: null,
        changes,
        attempt: null,
        askedAtMs: null,
        isRestore: true,
      }),
    );
  }

  /** A call to the store begins. @param attempt which one, if it is one. @returns what `attempted` and `read` take */
  asking(attempt?: Attempt): number {
    if (attempt !== undefined) this.#askedMs.set(attempt, this.#trueNowMs());
    return (this.#seq += 1);
  }

  /** @param generation the store's when it answered */
  attempted(
    actor: string,
    from: number,
    attempt: Attempt,
    reply: AttemptReply,
    generation = this.#generation,
  ): void {
    const atMs = this.#trueNowMs();
    const to = this.asking();
    this.storeCalls.push({ kind: 'attempt', actor, generation, from, to, atMs, attempt, reply });
  }

  /**
   * @param of the keys that were asked for, or the prefix
   * @param generation the store's when it answered
   */
  read(
    actor: string,
    from: number,
    of: readonly string[] | string,
    snapshot: Snapshot,
    generation = this.#generation,
  ): void {
    const keys = typeof of === 'string' ? null : of;
    const prefix = typeof of === 'string' ? of : null;
    const [to, atMs] = [this.asking(), this.#trueNowMs()];
    this.storeCalls.push({ kind: 'read', actor, generation, from, to, atMs, keys, prefix, snapshot });
  }

  add<K extends keyof Facts>(kind: K, fact: Facts[K]): void {
    (this[kind] as Stamped<Facts[K]>[]).push(this.#stamped(fact));
  }

  /** An order reached an agent. @returns the place of its answer */
  ordered(order: OrderFact): (answer: OrderAnswer) => void {
    const record: Open<OrderRecord> = { ...this.#stamp(), order, answer: null };
    this.orders.push(record);
    return (answer) => {
      record.answer = this.#stamped(answer);
    };
  }

  /** A client calls. @returns the place of its answer */
  called(call: ApiCall): (answer: ApiAnswer) => void {
    const record: Open<ApiRecord> = { ...this.#stamp(), call, answer: null };
    this.calls.push(record);
    return (answer) => {
      record.answer = this.#stamped(answer);
    };
  }

  phase(phase: PhaseFact['phase']): void {
    this.phases.push(this.#stamped({ phase }));
  }

  #stamp(): Stamp {
    this.#seq += 1;
    return { seq: this.#seq, atMs: this.#trueNowMs() };
  }

  #stamped<T>(fact: T): Stamped<T> {
    this.#seq += 1;
    return { seq: this.#seq, atMs: this.#trueNowMs(), fact };
  }
}
