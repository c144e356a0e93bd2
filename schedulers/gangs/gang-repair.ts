import type { Group } from '../../src/core/cell/job.ts';
import type { Fill, Stop } from '../../src/core/slots/job-view.ts';
import { CAUSES } from '../../src/core/slots/job-view.ts';
import type { DecidedPlan } from '../state/decided-plan.ts';
import { backOffGroup } from '../state/group-backoff.ts';
import type { Entry, OwnedJob } from '../state/owned-job.ts';
import type { Term } from '../state/state.ts';
import { isCurrent, newId } from '../state/state.ts';
import { isAllOrNothing, isCommitting, isRestarting } from './gangs.ts';

export interface GangRepairParts {
  /** Places the member in memory. @returns none: no host has room for it */
  readonly place: (job: OwnedJob, group: Group, fills: readonly Fill[], planId: string) => readonly Entry[];
  /** Tickets, commit and start. @returns false: an arbiter or the store did not answer */
  readonly runPlan: (job: OwnedJob, plan: DecidedPlan) => Promise<boolean>;
  readonly released: (job: OwnedJob, entry: Entry) => void;
  readonly stop: (job: OwnedJob, stops: readonly Stop[]) => Promise<void>;
}

/** Conflicts with other schedulers about the member's new host, before it counts as having none. */
const HOSTS_MAX = 3;
/** Before the host is asked again, when no answer decided what becomes of the member. */
const AGAIN_MS = 1_000;

/**
 * What becomes of a gang when a host refuses one of its members. Other members may run by then, so the claim is not
 * released alone: that would leave a part of a gang (I6). One commit claims another host and returns the refused claim;
 * where no other host has room, the whole gang ends and begins again, and holds no capacity while it waits.
 */
export class GangRepair {
  readonly #term: Term;
  readonly #parts: GangRepairParts;
  /** By group: members that wait for the repair of another, since two repairs at once could each take the gang for whole. */
  readonly #waiting = new Map<Group, Entry[]>();

  constructor(term: Term, parts: GangRepairParts) {
    this.#term = term;
    this.#parts = parts;
  }

  /**
   * The entry's host refused the start, or surely never got the order.
   * @returns false: the entry is no gang's, or the gang has no other member: the claim may be released
   */
  refused(job: OwnedJob, entry: Entry, why: string): boolean {
    const group = job.record.job.groups[entry.allocation.group];
    if (!isAllOrNothing(job, group) || !hasOthers(job, entry)) return false;
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
    // If anything below fails, the job is read again, the host is asked again, and the refusal comes back here.
    entry.needsVerify = true;
    // A gang that restarts stops this member too.
    if (!this.#isWanted(job, entry) || isRestarting(job, group)) return;
    const answered = await this.#replace(job, group, entry);
    if (!this.#isWanted(job, entry)) return;
    // No task ends because an arbiter or the store is away (rule 6). Nor does a gang restart while members are being
    // committed: they would come after the mark.
    if (!answered || isCommitting(job, group)) {
      this.#term.reload(job, AGAIN_MS);
      return;
    }
    backOffGroup(this.#term, job, group.name, why, null);
    const cause = `${CAUSES.gangBroken}: ${why}`;
    // Awaited: a member that moved after the mark would be part of a gang that ends.
    await this.#parts.stop(job, [{ allocation: entry.allocation, mode: 'stop', cause }]);
    // Nothing is marked while other members are: no decision of the job would come back to a refusal.
    if (this.#isWanted(job, entry)) this.#term.reload(job, AGAIN_MS);
  }

  /** @returns false: no answer says whether it can be done */
  async #replace(job: OwnedJob, group: Group, entry: Entry): Promise<boolean> {
    for (let hosts = 0; hosts < HOSTS_MAX && this.#isWanted(job, entry); hosts++) {
      const plan = this.#plan(job, group, entry);
      if (plan === null) return true;
      const answered = await this.#parts.runPlan(job, plan);
      if (plan.entries.some((substitute) => substitute.revision > 0)) {
        this.#parts.released(job, entry);
        return true;
      }
      if (!answered || job.stale) return false;
    }
    return true;
  }

  /** @returns null: no other host has room for the member */
  #plan(job: OwnedJob, group: Group, entry: Entry): DecidedPlan | null {
    const { cell, world } = this.#term;
    const id = newId(world);
    const [substitute] = this.#parts.place(job, group, [fillOf(entry)], id);
    if (substitute === undefined) return null;
    const { allocation, revision } = entry;
    const releases = [{ allocation, revision, outcome: null }];
    if (!job.avoids(substitute.allocation.host))
      return { id, entries: [substitute], atomicity: 'all-or-nothing', releases };
    // That host refused lately, and was chosen only because no other fits.
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
