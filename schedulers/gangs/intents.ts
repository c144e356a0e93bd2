import { displacedBy } from '../../src/core/commit/pending-preemption.ts';
import { makeId } from '../../src/core/cell/ids.ts';
import type { Intent, IntentRef } from '../../src/core/cell/intent.ts';
import type { Eviction } from '../../src/core/commit/plan.ts';
import type { OpenIntent, OwnerDeps } from '../../src/runtime/commit/gang-intent.ts';
import { makeEffective, openIntent, sweepIntent } from '../../src/runtime/commit/gang-intent.ts';
import type { Term } from '../state/state.ts';
import type { Entry, OwnedJob } from '../state/owned-job.ts';

/**
 * How long a gang may take until all of its members are committed, before anybody may make its intent void: a store that
 * is slow for a while must not cost it its places, and room that nobody uses is not to be held for much longer.
 */
const INTENT_TTL_MS = 60_000;

/** Our gangs that are too large for one transaction, from the first word of them until they are effective or given up. */
export class Intents {
  readonly #term: Term;
  readonly #deps: OwnerDeps;
  readonly #held = new Map<string, OpenIntent>();

  constructor(term: Term) {
    this.#term = term;
    this.#deps = { ...term.world, session: term.signal };
  }

  /** The mod revision that a member's commit compares; undefined: not one of ours, or given up. */
  revisionOf({ id }: IntentRef): number | undefined {
    return this.#held.get(id)?.revision;
  }

  /** Is it on its way here, so that its members are nobody's to look at yet? */
  holds(id: string): boolean {
    return this.#held.has(id);
  }

  /**
   * Writes an intent for the placements, and marks them as its members.
   * @param evictions who gives way to them
   * @returns null: the job is not ours any more
   * @throws StoreError
   */
  async open(
    job: OwnedJob,
    planId: string,
    members: readonly Entry[],
    evictions: readonly Eviction[],
  ): Promise<Intent | null> {
    const { clock, random } = this.#term.world;
    const [first] = members;
    if (first === undefined) throw new Error('a gang without members');
    const { jobVersion, group } = first.allocation;
    const make = (): Intent => {
      const nowMs = Math.floor(clock.nowMs());
      return {
        id: makeId(nowMs, random.bytes(16)),
        ...{ namespace: job.namespace, job: job.name, jobVersion, group, planId },
        ...{ scheduler: this.#term.options.id, members: members.length },
        ...{ state: 'open', createdAtMs: nowMs, ttlMs: INTENT_TTL_MS },
      };
    };
    const held = await openIntent(this.#deps, make, job.ownerRevision);
    if (held === null) return null;
    const { intent, revision } = held;
    // A list of the job's intents from before this revision would not show it.
    job.readFrom = Math.max(job.readFrom, revision);
    this.#held.set(intent.id, held);
    const allocations = members.map(({ allocation }) => allocation);
    const displaced = displacedBy(allocations, evictions);
    for (const entry of members) {
      const displaces = displaced.get(entry.allocation.id);
      const more = displaces === undefined ? null : { displaces };
      entry.allocation = { ...entry.allocation, intent: intent.id, ...more };
    }
    return intent;
  }

  /** Makes the members effective, all of which are committed. @returns false: it was too late. @throws StoreError */
  async makeEffective(job: OwnedJob, { id }: Intent, members: readonly Entry[]): Promise<boolean> {
    const held = this.#held.get(id);
    const member = members[0]?.allocation.id;
    if (held === undefined || member === undefined) return false;
    const { ownerRevision } = job;
    const { intent, revision } = held;
    const isEffective = await makeEffective(this.#deps, intent, { revision, ownerRevision, member });
    this.#held.delete(id);
    return isEffective;
  }

  /** Nothing is committed for it from now on. What was, is found and released when the job is read again. */
  giveUp({ id }: Intent): void {
    this.#held.delete(id);
  }

  /** Ends intents that somebody before us, or we ourselves, did not bring to their end. @throws StoreError */
  async sweep(intents: readonly Intent[]): Promise<void> {
    const { clock, random } = this.#term.world;
    for (const intent of intents) {
      await sweepIntent(
        this.#deps,
        intent,
        (releases) =>
          this.#term.commit({
            id: makeId(Math.floor(clock.nowMs()), random.bytes(16)),
            ...{ atomicity: 'incremental', places: [], evictions: [], releases },
          }),
        this.#term.signal,
      );
    }
  }
}
