import type { Group } from '../../src/core/cell/job.ts';
import type { Fill } from '../../src/core/slots/job-view.ts';
import { block } from '../state/group-backoff.ts';
import type { Term } from '../state/state.ts';
import type { EvictingPlan } from './preemption.ts';
import type { GangSearchParts, GangSearchTerms } from './gang-search.ts';
import { GangSearch } from './gang-search.ts';
import type { OwnedJob } from '../state/owned-job.ts';

/** Choices for the whole gang, when some of the chosen turn out to be leaving already. */
const CHOICES_MAX = 3;
/**
 * How long the search may take: what it has found is nobody else's meanwhile. 10,000 members take some seconds of a processor, and
 * many times that on a machine that others use as well: a search that is given up there begins anew, and would never end.
 */
const SEARCH_MAX_MS = { first: 20_000, perMember: 10 };
/** Before hosts that did not say in time what could give way are asked again. */
const AGAIN_MS = 20_000;

/**
 * Makes room for all members of a gang or for none: places and victims of all of them are chosen in memory first. Members
 * that fit go where they fit; the others share hosts with as few victims as will do. Nobody has given way until the plan
 * lands: in the gang's one transaction, or, when it goes by intent, under that, so that it can be taken back.
 */
export class GangRoom {
  readonly #term: Term;
  readonly #parts: GangSearchParts;

  constructor(term: Term, parts: GangSearchParts) {
    this.#term = term;
    this.#parts = parts;
  }

  /**
   * @param fills all that are missing of the group
   * @returns the members, assumed in memory, their hosts under `under`; null: there is no room for all of them, none was
   *   found in time, or nobody wants it any more
   * @throws StoreError
   */
  async find(job: OwnedJob, group: Group, fills: readonly Fill[]): Promise<EvictingPlan | null> {
    const maxMs = SEARCH_MAX_MS.first + SEARCH_MAX_MS.perMember * fills.length;
    const untilMs = this.#term.world.clock.monotonicMs() + maxMs;
    const terms = { leaving: new Set<string>(), untilMs, isUnheard: false };
    const plan = await this.#findUntil(job, group, fills, terms);
    if (plan !== null) return plan;
    // What it gives back looks like room for it: without a pause it would take the same again, and nobody else ever could.
    const isLate = terms.isUnheard || this.#term.world.clock.monotonicMs() >= untilMs;
    const why = isLate ? 'its hosts do not say in time what could give way' : 'no room for all of the gang';
    block(this.#term, job, group.name, why, isLate ? AGAIN_MS : null);
    return null;
  }

  async #findUntil(
    job: OwnedJob,
    group: Group,
    fills: readonly Fill[],
    terms: GangSearchTerms,
  ): Promise<EvictingPlan | null> {
    for (let choices = 0; choices < CHOICES_MAX; choices++) {
      const search = new GangSearch(this.#term, this.#parts, job, group, terms);
      let plan: EvictingPlan | null = null;
      try {
        if (!(await search.placeAll(fills))) return null;
        const evictions = await search.evictions();
        if (evictions !== null && search.isWhole()) return (plan = search.plan(evictions));
      } finally {
        if (plan === null) search.takeBack();
      }
      if (!search.isWanted) return null;
    }
    return null;
  }
}
