import { ownerRank } from '../../src/core/cell/ownership.ts';
import { jobKeyOf } from '../../src/core/cell/ids.ts';
import type { Claim } from '../../src/core/cell/claim.ts';
import type { JobRecord, SchedulerKind } from '../../src/core/cell/job.ts';
import { SCHEDULER_KINDS, schedulerKindOf } from '../../src/core/cell/job.ts';
import type { Host } from '../../src/core/host/host.ts';
import { SchedulerClient } from '../../src/clients/scheduler-client.ts';
import type { HttpClient } from '../../src/ports/http.ts';
import { HttpError } from '../../src/ports/http.ts';
import type {
  EvictedAllocation,
  JobPlan,
  PlanMove,
  SchedulerPlan,
  SchedulerPlanRequest,
} from '../../src/wire/plan/plan.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { CellCopy } from '../view/view.ts';
import { isOfKind } from './why.ts';

/** A scheduler plans for 10 s at most, and others may wait before. */
const ASK_TIMEOUT_MS = 40_000;
/** Schedulers asked for one plan: each preemption may lead to another one elsewhere. */
const ASKED_MAX = 32;

/** How the cell would be otherwise. */
export interface CellChange {
  readonly hostsLost: readonly string[];
  readonly hostsAdded: readonly Host[];
}

export interface CellPlan {
  readonly jobs: readonly JobPlan[];
  readonly unanswered: readonly string[];
  readonly isCut: boolean;
  readonly moves?: readonly PlanMove[];
}

/** Asks schedulers what they would do: first those that the change concerns, then the owners of what these would preempt. */
export class Plans {
  readonly #copy: CellCopy;
  readonly #client: SchedulerClient;

  constructor(copy: CellCopy, http: HttpClient) {
    this.#copy = copy;
    this.#client = new SchedulerClient(http, { timeoutMs: ASK_TIMEOUT_MS });
  }

  /** @param record that the submission would write */
  async submit(record: JobRecord): Promise<CellPlan> {
    const kind = schedulerKindOf(record.job);
    const asked = new Asked({ hostsLost: [], hostsAdded: [] });
    const scheduler = this.#schedulerFor(jobKeyOf(record.job.namespace, record.job.name), kind);
    if (scheduler === null) asked.unanswered.push(`no scheduler of kind ${kind} is alive`);
    else await this.#ask(asked, scheduler, { submit: record, evicted: [], affected: false });
    return await this.#followed(asked);
  }

  /**
   * One scheduler after the other, by kind: each counts what those before it would place. In the cell all of them decide at
   * the same time.
   */
  async hosts(change: CellChange): Promise<CellPlan> {
    const asked = new Asked(change);
    for (const { id } of this.#schedulers()) await this.#ask(asked, id, { evicted: [], affected: true });
    return await this.#followed(asked);
  }

  /** Each scheduler proposes moves of its own jobs, and counts those that were proposed before. */
  async rebalance(budget: number): Promise<CellPlan> {
    const asked = new Asked({ hostsLost: [], hostsAdded: [] });
    for (const { id } of this.#schedulers()) {
      const left = budget - asked.moves.length;
      if (left > 0) await this.#ask(asked, id, { evicted: [], affected: false, rebalance: { budget: left } });
    }
    const { unanswered, isCut, moves } = asked;
    return { jobs: [], unanswered, isCut, moves };
  }

  async #followed(asked: Asked): Promise<CellPlan> {
    while (asked.evicted.length > 0) {
      const [first] = asked.evicted;
      if (first === undefined || asked.count >= ASKED_MAX) break;
      const owner = this.#ownerOf(first);
      const evicted = asked.evicted.filter((one) => this.#ownerOf(one) === owner);
      asked.evicted = asked.evicted.filter((one) => !evicted.includes(one));
      if (owner === null) asked.unanswered.push(`${first.namespace}/${first.job} has no scheduler`);
      else await this.#ask(asked, owner, { evicted, affected: false });
    }
    const { unanswered } = asked;
    return { jobs: asked.jobs(), unanswered, isCut: asked.isCut || asked.evicted.length > 0 };
  }

  async #ask(asked: Asked, scheduler: string, what: Omit<SchedulerPlanRequest, 'cell'>): Promise<void> {
    const address = this.#copy.roles.get(`scheduler/${scheduler}`)?.value.address;
    const request = { ...what, cell: asked.cell() };
    try {
      if (address === undefined) throw new HttpError('it is gone', { sent: false });
      asked.add(await this.#client.plan(address, request));
    } catch (error) {
      if (!(error instanceof HttpError) && !(error instanceof ProblemError)) throw error;
      asked.unanswered.push(`${scheduler}: ${error.message}`);
    }
  }

  #ownerOf({ namespace, job }: EvictedAllocation): string | null {
    return this.#copy.owners.get(jobKeyOf(namespace, job))?.value.scheduler ?? null;
  }

  /** The job's owner, or who comes first for it; null: there is none of its kind. */
  #schedulerFor(jobKey: string, kind: SchedulerKind): string | null {
    const owner = this.#copy.owners.get(jobKey)?.value.scheduler;
    if (owner !== undefined) return owner;
    const able = this.#schedulers()
      .filter(({ policy }) => isOfKind(policy, kind))
      .map(({ id }) => id);
    return able.find((id) => ownerRank(jobKey, able, id) === 0) ?? null;
  }

  #schedulers(): readonly { readonly id: string; readonly policy: string }[] {
    const kindOf = (policy: string): number => SCHEDULER_KINDS.findIndex((kind) => isOfKind(policy, kind));
    return [...this.#copy.roles.rows()]
      .map(([, { value }]) => value)
      .filter(({ kind }) => kind === 'scheduler')
      .sort((a, b) => kindOf(b.policy) - kindOf(a.policy) || a.id.localeCompare(b.id));
  }
}

/** What the schedulers that were asked so far would do together. */
class Asked {
  readonly unanswered: string[] = [];
  readonly moves: PlanMove[] = [];
  evicted: readonly EvictedAllocation[] = [];
  count = 0;
  isCut = false;
  readonly #change: CellChange;
  readonly #plans: SchedulerPlan[] = [];
  readonly #placed = new Map<string, Claim>();
  readonly #freed = new Map<string, Claim>();

  constructor(change: CellChange) {
    this.#change = change;
  }

  cell(): SchedulerPlanRequest['cell'] {
    this.count += 1;
    return { ...this.#change, placed: [...this.#placed.values()], freed: [...this.#freed.values()] };
  }

  add(plan: SchedulerPlan): void {
    this.#plans.push(plan);
    this.moves.push(...(plan.moves ?? []));
    for (const claim of plan.placed) this.#placed.set(claim.id, claim);
    for (const claim of plan.freed) if (!this.#placed.delete(claim.id)) this.#freed.set(claim.id, claim);
    this.evicted = [...this.evicted, ...plan.evicted];
    this.isCut ||= plan.isCut;
  }

  /** A scheduler that was asked twice may have answered twice for a job. */
  jobs(): readonly JobPlan[] {
    const jobs = new Map<string, JobPlan>();
    for (const plan of this.#plans.flatMap((one) => one.jobs)) {
      const key = jobKeyOf(plan.namespace, plan.job);
      const known = jobs.get(key);
      jobs.set(key, known === undefined ? plan : { ...plan, acts: [...known.acts, ...plan.acts] });
    }
    return [...jobs.values()];
  }
}
