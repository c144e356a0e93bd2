import { displacedBy } from '../../src/core/commit/pending-preemption.ts';
import type { Intent, IntentRef } from '../../src/core/cell/intent.ts';
import type { Eviction } from '../../src/core/commit/plan.ts';
import type { OpenIntent, OwnerDeps } from '../../src/runtime/commit/gang-intent.ts';
import { makeEffective, openIntent, sweepIntent } from '../../src/runtime/commit/gang-intent.ts';
import type { Entry, OwnedJob } from '../state/owned-job.ts';
import type { Term } from '../state/state.ts';
import { newId, wallMs } from '../state/state.ts';

/**
 * How long a gang may take until all of its members are committed; then any process may make its intent void. A store that
 * is slow for a while must not cost the gang its hosts, and unused reservations must not stay for much longer.
 */
const INTENT_TTL_MS = 60_000;

/**
 * The intents of gangs that are larger than one transaction, from their creation until they are effective or abandoned.
 * An intent whose creation got no answer is never used: the request may land later, and would turn running allocations
 * into reservations. Void is a state from which an intent never comes back.
 */
export class Intents {
  readonly #term: Term;
  readonly #deps: OwnerDeps;
  readonly #held = new Map<string, OpenIntent>();

  constructor(term: Term) {
    this.#term = term;
    this.#deps = { ...term.world, session: term.signal };
  }

  /** The mod revision that a member's commit compares; undefined: another scheduler's intent, or an abandoned one. */
  revisionOf({ id }: IntentRef): number | undefined {
    return this.#held.get(id)?.revision;
  }

  /** Is the intent open here? Then its members are only reserved, and the commit alone decides about them. */
  holds(id: string): boolean {
    return this.#held.has(id);
  }

  /**
   * Writes an intent for the placements, and marks them as its members.
   * @param evictions their victims
   * @returns null: another scheduler owns the job
   * @throws StoreError
   */
  async open(
    job: OwnedJob,
    planId: string,
    members: readonly Entry[],
    evictions: readonly Eviction[],
  ): Promise<Intent | null> {
    const { world, options } = this.#term;
    const [first] = members;
    if (first === undefined) throw new Error('a gang without members');
    const { jobVersion, group } = first.allocation;
    const make = (): Intent => ({
      id: newId(world),
      ...{ namespace: job.namespace, job: job.name, jobVersion, group, planId },
      ...{ scheduler: options.id, members: members.length },
      ...{ state: 'open', createdAtMs: wallMs(world), ttlMs: INTENT_TTL_MS },
    });
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

  /** Nothing more is committed under it. Members that were are released when the job is read again. */
  abandon({ id }: Intent): void {
    this.#held.delete(id);
  }

  /** Ends intents that an earlier owner, or this scheduler, left open. @throws StoreError */
  async sweep(intents: readonly Intent[]): Promise<void> {
    const { world, signal } = this.#term;
    const plan = { atomicity: 'incremental', places: [], evictions: [] } as const;
    for (const intent of intents)
      await sweepIntent(
        this.#deps,
        intent,
        (releases) => this.#term.commit({ ...plan, id: newId(world), releases }),
        signal,
      );
  }
}
