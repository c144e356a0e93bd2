import type { Group } from '../../src/core/cell/job.ts';
import type { Fill } from '../../src/core/slots/job-view.ts';
import { backOffGroup } from '../state/group-backoff.ts';
import type { OwnedJob } from '../state/owned-job.ts';
import type { Term } from '../state/state.ts';
import type { GangSearchState } from './gang-search.ts';
import { GangSearch } from './gang-search.ts';
import type { PreemptionPlan, SearchParts } from './preemption-plan.ts';

/** Choices for the whole gang, when chosen victims turn out to be stopping already. */
const CHOICES_MAX = 3;
/**
 * How long the search may take, during which its hosts are not free for others. 10,000 members take some seconds of a
 * processor, and many times that on a machine with other work: a search that ends too early begins again, and never
 * succeeds.
 */
const SEARCH_MAX_MS = { first: 20_000, perMember: 10 };
/** Before hosts that did not answer in time are asked again. */
const AGAIN_MS = 20_000;

/**
 * Makes room for all members of a gang or for none: hosts and victims of all of them are chosen in memory first. Members
 * that fit go where they fit; the others share hosts with as few victims as possible. No victim is stopped before the plan
 * is committed: in the gang's one transaction, or under its intent, so that the mark can be taken back.
 */
export class GangPreemption {
  readonly #term: Term;
  readonly #parts: SearchParts;

  constructor(term: Term, parts: SearchParts) {
    this.#term = term;
    this.#parts = parts;
  }

  /**
   * @param fills all missing members of the group
   * @returns the members, assumed in memory, their hosts in `busyHosts`; null: not all of them fit, none was found in time, or
   *   the job has changed
   * @throws StoreError
   */
  async find(job: OwnedJob, group: Group, fills: readonly Fill[]): Promise<PreemptionPlan | null> {
    const { clock } = this.#term.world;
    const untilMs = clock.monotonicMs() + SEARCH_MAX_MS.first + SEARCH_MAX_MS.perMember * fills.length;
    const state = { stopping: new Set<string>(), untilMs, isUnanswered: false };
    const plan = await this.#findUntil(job, group, fills, state);
    if (plan !== null) return plan;
    // What the search gives back looks like room for the gang: without a pause it would take the same hosts again, and no
    // other job ever could.
    const isLate = state.isUnanswered || clock.monotonicMs() >= untilMs;
    const why = isLate
      ? 'its hosts do not say in time what could be preempted'
      : 'no capacity for all of the gang';
    backOffGroup(this.#term, job, group.name, why, isLate ? AGAIN_MS : null);
    return null;
  }

  async #findUntil(
    job: OwnedJob,
    group: Group,
    fills: readonly Fill[],
    state: GangSearchState,
  ): Promise<PreemptionPlan | null> {
    for (let choices = 0; choices < CHOICES_MAX; choices++) {
      const search = new GangSearch(this.#term, this.#parts, job, group, state);
      let plan: PreemptionPlan | null = null;
      try {
        if (!(await search.placeAll(fills))) return null;
        const evictions = await search.evictions();
        if (evictions !== null && search.isWhole()) return (plan = search.plan(evictions));
      } finally {
        if (plan === null) search.undo();
      }
      if (!search.isWanted) return null;
    }
    return null;
  }
}
