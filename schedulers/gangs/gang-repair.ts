import { makeId } from '../../src/core/cell/ids.ts';
import type { Group } from '../../src/core/cell/job.ts';
import type { Release } from '../../src/core/commit/plan.ts';
import type { Fill } from '../../src/core/slots/job-view.ts';
import { CAUSES } from '../../src/core/slots/job-view.ts';
import { block } from '../state/group-backoff.ts';
import type { Term } from '../state/state.ts';
import { isCurrent } from '../state/state.ts';
import type { DecidedPlan } from '../decide/decide.ts';
import { beginsAgain, isUnderWay, isWholeOnly } from './gangs.ts';
import type { Entry, OwnedJob } from '../state/owned-job.ts';
import type { Placer } from '../decide/placer.ts';
import type { Releaser } from '../commit/releaser.ts';
import type { Stopper } from '../hosts/stopper.ts';

export interface GangRepairParts {
  readonly placer: Placer;
  readonly releaser: Releaser;
  readonly stopper: Stopper;
  /**
   * Tickets, commit and start of the plan; the releases land with it or not at all.
   * @returns false: somebody whose word was needed did not answer
   */
  readonly launch: (job: OwnedJob, plan: DecidedPlan, releases: readonly Release[]) => Promise<boolean>;
}

/** Conflicts with other schedulers about one member's new place, before there counts as none. */
const PLACES_MAX = 3;
/** Before a host is asked again for what nobody could give another place. */
const AGAIN_MS = 1_000;

/**
 * What becomes of a gang when a host refuses one of its members. Some of the others may run by then, so the claim is not
 * given back by itself: that would leave a part of a gang (I6). Another host takes the member over in the commit that gives
 * the claim back; where no other host can, the gang ends whole and begins again, and holds nothing while it waits.
 */
export class GangRepair {
  readonly #term: Term;
  readonly #parts: GangRepairParts;
  /** By group: members that wait for the repair of another, since two at once could each take the gang for whole. */
  readonly #waiting = new Map<Group, Entry[]>();

  constructor(term: Term, parts: GangRepairParts) {
    this.#term = term;
    this.#parts = parts;
  }

  /**
   * The entry's host said no, or surely heard nothing.
   * @returns false: the gang has no other member here, or it is none: the claim may go
   */
  refused(job: OwnedJob, entry: Entry, why: string): boolean {
    const group = job.record.job.groups[entry.allocation.group];
    if (!isWholeOnly(job, group) || !hasOthers(job, entry)) return false;
    const waiting = this.#waiting.get(group);
    if (waiting !== undefined) waiting.push(entry);
    else void this.#repairAll(job, group, entry, why);
    return true;
  }

  async #repairAll(job: OwnedJob, group: Group, first: Entry, why: string): Promise<void> {
    const waiting = [first];
    this.#waiting.set(group, waiting);
    try {
      for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift())
        await this.#repair(job, group, entry, why);
    } finally {
      this.#waiting.delete(group);
    }
  }

  async #repair(job: OwnedJob, group: Group, entry: Entry, why: string): Promise<void> {
    // Whatever fails from here on: when the job is read again, the host is asked again, and we come back here.
    entry.undriven = true;
    // One that begins again stops this member too, and takes nobody over any more.
    if (!this.#isWanted(job, entry) || beginsAgain(job, group)) return;
    const answered = await this.#replace(job, group, entry);
    if (!this.#isWanted(job, entry)) return;
    // No task ends because an arbiter or the store is away (rule 6).
    // Nor does it begin again beside members that are being committed: they would come after the mark.
    if (!answered || isUnderWay(job, group)) {
      this.#term.reload(job, AGAIN_MS);
      return;
    }
    block(this.#term, job, group.name, why, null);
    const cause = `${CAUSES.gangBroken}: ${why}`;
    // The next one waits for it: a member that is taken over after the mark would be part of a gang that ends.
    await this.#parts.stopper.stop(job, [{ allocation: entry.allocation, mode: 'stop', cause }]);
  }

  /** @returns false: nobody knows whether it can be done */
  async #replace(job: OwnedJob, group: Group, entry: Entry): Promise<boolean> {
    for (let places = 0; places < PLACES_MAX && this.#isWanted(job, entry); places++) {
      const plan = this.#place(job, group, entry);
      if (plan === null) return true;
      const { allocation, revision } = entry;
      const answered = await this.#parts.launch(job, plan, [{ allocation, revision, outcome: null }]);
      if (plan.entries.some((substitute) => substitute.revision > 0)) {
        this.#parts.releaser.gone(job, entry, null);
        return true;
      }
      if (!answered || job.stale) return false;
    }
    return true;
  }

  /** @returns null: no other host has room for the member */
  #place(job: OwnedJob, group: Group, entry: Entry): DecidedPlan | null {
    const { cell, world } = this.#term;
    const id = makeId(Math.floor(world.clock.nowMs()), world.random.bytes(16));
    const [substitute] = this.#parts.placer.place(job, group, [fillOf(entry)], id);
    if (substitute === undefined) return null;
    if (!job.avoids(substitute.allocation.host))
      return { id, entries: [substitute], atomicity: 'all-or-nothing' };
    // That one refused a moment ago, and was chosen only because no other fits.
    cell.state.forget(substitute.allocation);
    this.#term.dropEntry(job, substitute);
    return null;
  }

  #isWanted(job: OwnedJob, entry: Entry): boolean {
    return isCurrent(this.#term, job, entry) && entry.allocation.desired === 'run' && !entry.releasing;
  }
}

function hasOthers(job: OwnedJob, { allocation }: Entry): boolean {
  for (const { allocation: other } of job.entries.values())
    if (other.group === allocation.group && other.id !== allocation.id && other.desired === 'run')
      return true;
  return false;
}

/** The same slot and attempt: nothing of it has run. */
function fillOf({ allocation: { group, index, attempt, replaces } }: Entry): Fill {
  const what = { group, index, attempt, avoidHosts: [], notBeforeMs: 0, sinceMs: 0 };
  return replaces === undefined ? what : { ...what, replaces };
}
