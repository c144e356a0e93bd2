import type { Explanation } from '../../src/core/placement/explain.ts';
import { makeId } from '../../src/core/cell/ids.ts';
import type { Group } from '../../src/core/cell/job.ts';
import { unplaceableOutcome } from '../../src/core/slots/outcomes.ts';
import type { Outcome } from '../../src/core/cell/allocation.ts';
import { outcomeOf } from '../../src/core/slots/outcomes.ts';
import type { Atomicity } from '../../src/core/commit/plan.ts';
import type { Fill, Evaluation } from '../../src/core/slots/job-view.ts';
import { evaluate } from '../../src/core/slots/slots.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import { outcomeCodec } from '../../src/wire/records/records.ts';
import type { Term } from '../state/state.ts';
import type { Evictor } from '../preemption/preemption.ts';
import { isUnderWay, isWholeOnly } from '../gangs/gangs.ts';
import type { Entry, OwnedJob } from '../state/owned-job.ts';
import type { Parking } from './parking.ts';
import type { Placer } from './placer.ts';
import type { Releaser } from '../commit/releaser.ts';
import type { Stopper } from '../hosts/stopper.ts';

/** Outcomes written in one transaction, under the store's floor of 128 operations. */
const OUTCOMES_MAX = 60;
/** An explanation costs a walk over the cell; one for a group is good for this long. */
const EXPLAIN_EVERY_MS = 5_000;

/** What one turn of a job came to. */
export interface Turn {
  readonly placed: number;
  /** There is more to place at once: the job goes to the end of its line. */
  readonly more: boolean;
  /** What was decided, for the launcher; nothing has left memory yet. */
  readonly plans: readonly DecidedPlan[];
}

export interface DecidedPlan {
  readonly id: string;
  readonly entries: readonly Entry[];
  readonly atomicity: Atomicity;
}

const NOTHING: Turn = Object.freeze({ placed: 0, more: false, plans: [] });

export interface DeciderParts {
  readonly placer: Placer;
  readonly stopper: Stopper;
  readonly releaser: Releaser;
  readonly parking: Parking;
  readonly evictor: Evictor;
  /** An operator has paused all placement. */
  readonly isPaused: () => boolean;
  readonly finish: (job: OwnedJob, as: NonNullable<Evaluation['finished']>) => void;
}

/** One turn of one job: looks at what should change, begins all of it, and places one slice. */
export class Decider {
  readonly #term: Term;
  readonly #parts: DeciderParts;

  constructor(term: Term, parts: DeciderParts) {
    this.#term = term;
    this.#parts = parts;
  }

  turn(job: OwnedJob): Turn {
    if (job.dropped || job.finishing || job.stale) return NOTHING;
    const nowMs = Math.floor(this.#term.world.clock.nowMs());
    const todo = this.look(job, nowMs);
    job.again = false;
    if (todo.stops.length > 0) void this.#parts.stopper.stop(job, todo.stops);
    if (job.entries.size > 0) {
      this.#parts.stopper.orderAll(job);
      this.#release(job, todo, nowMs);
    }
    if (todo.unplaceable.length > 0) void this.#fail(job, todo.unplaceable, nowMs);
    if (todo.nextAtMs !== null) this.#term.lookAfter(job, todo.nextAtMs - nowMs);
    if (todo.finished !== null) {
      this.#parts.finish(job, todo.finished);
      return NOTHING;
    }
    return this.#place(job, todo.fills, nowMs);
  }

  look(job: OwnedJob, nowMs: number): Evaluation {
    const { cell } = this.#term;
    return evaluate({
      record: job.record,
      live: [...job.entries.values(), ...job.unrecorded],
      outcomes: job.outcomes(),
      versions: job.versions,
      hostCondition: (host) => cell.standing(host),
      matching: (group) => cell.matching(group),
      nowMs,
    });
  }

  #release(job: OwnedJob, todo: Evaluation, nowMs: number): void {
    for (const { allocation, report } of todo.releases) {
      const entry = job.entries.get(allocation.id);
      if (entry !== undefined && report !== null && !entry.marking)
        this.#parts.releaser.release(job, entry, outcomeOf(allocation, report, nowMs));
    }
  }

  #place(job: OwnedJob, fills: readonly Fill[], nowMs: number): Turn {
    const byGroup = new Map<string, Fill[]>();
    for (const fill of fills) {
      const list = byGroup.get(fill.group);
      if (list === undefined) byGroup.set(fill.group, [fill]);
      else list.push(fill);
    }
    for (const [name, state] of job.groups) state.pending = byGroup.get(name)?.length ?? 0;
    const plans: DecidedPlan[] = [];
    let room = this.#term.options.sliceMax;
    let more = false;
    for (const [name, wanted] of byGroup) {
      const group = job.record.job.groups[name];
      if (group === undefined) continue;
      job.group(name).pending = wanted.length;
      const due = wanted.filter((fill) => fill.notBeforeMs <= nowMs);
      if (due.length === 0 || this.#mustWait(job, name)) continue;
      if (room <= 0) {
        more = true;
        break;
      }
      const isGang = isWholeOnly(job, group);
      // Its evictor takes up the members one by one: those still missing are no gang of their own.
      if (isGang && job.group(name).evicting !== null) {
        job.group(name).passedOver = true;
        continue;
      }
      // When the commit of those that were decided first is over, there is another look.
      if (isGang && isUnderWay(job, group)) continue;
      // A gang waits for the last of its members' delays.
      if (isGang && due.length < wanted.length) continue;
      const slice = isGang ? due : due.slice(0, room);
      const plan = this.#try(job, group, slice, nowMs);
      if (plan === null) continue;
      room -= plan.entries.length;
      plans.push(plan);
      job.group(name).pending -= plan.entries.length;
      if (slice.length < due.length && plan.entries.length === slice.length) more = true;
    }
    return { placed: plans.reduce((sum, plan) => sum + plan.entries.length, 0), more, plans };
  }

  #mustWait(job: OwnedJob, group: string): boolean {
    const state = job.group(group);
    if (this.#parts.isPaused() || state.parked) return true;
    const waitMs = state.blockedUntilMs - this.#term.world.clock.monotonicMs();
    if (waitMs <= 0) return false;
    this.#term.lookAfter(job, waitMs);
    return true;
  }

  #try(job: OwnedJob, group: Group, slice: readonly Fill[], nowMs: number): DecidedPlan | null {
    const { world, options, stats } = this.#term;
    const state = job.group(group.name);
    const isGang = isWholeOnly(job, group);
    state.tries += 1;
    stats.decisions += 1;
    const id = makeId(nowMs, world.random.bytes(16));
    const entries = this.#parts.placer.place(job, group, slice, id);
    if (entries.length < slice.length) {
      this.#park(job, group, slice, entries);
    } else {
      state.parkedSinceMs = null;
      state.explanation = null;
    }
    if (isGang && entries.length < slice.length) {
      for (const entry of entries) {
        this.#term.cell.state.forget(entry.allocation);
        this.#term.dropEntry(job, entry);
      }
      this.#parts.evictor.consider(job, group, slice, true);
      return null;
    }
    if (entries.length < slice.length) {
      this.#parts.evictor.consider(job, group, withoutPlaced(slice, entries), false);
    }
    if (entries.length === 0) return null;
    return { id, entries, atomicity: isGang ? 'all-or-nothing' : options.atomicity };
  }

  /** The rest sleeps until something that could fit it changes. */
  #park(job: OwnedJob, group: Group, slice: readonly Fill[], placed: readonly Entry[]): void {
    const nowMs = this.#term.world.clock.monotonicMs();
    const state = job.group(group.name);
    const isNew = !state.parked && state.parkedSinceMs === null;
    state.parked = true;
    state.parkedSinceMs = nowMs;
    this.#parts.parking.park(job);
    if (state.explanation === null || nowMs - state.explainedAtMs >= EXPLAIN_EVERY_MS) {
      const missing = slice.find((fill) => placed.every((entry) => entry.allocation.index !== fill.index));
      state.explanation = this.#parts.placer.explain(job, group, missing);
      state.explainedAtMs = nowMs;
    }
    if (isNew) this.#term.say('parked', job, `${group.name}: ${shortly(state.explanation)}`);
  }

  /** Slots that found no place in time get an outcome that says so (I24). */
  async #fail(job: OwnedJob, fills: readonly Fill[], nowMs: number): Promise<void> {
    if (job.failing) return;
    job.failing = true;
    job.givenUp += 1;
    try {
      for (let i = 0; i < fills.length && !job.dropped; i += OUTCOMES_MAX)
        await this.#writeFailures(job, fills.slice(i, i + OUTCOMES_MAX), nowMs);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#term.world.log.warn({ job: job.key, error }, 'cannot write that a job is unplaceable');
      this.#term.reload(job, RELOAD_DELAY_MS);
    } finally {
      job.failing = false;
      this.#term.look(job);
    }
  }

  async #writeFailures(job: OwnedJob, fills: readonly Fill[], nowMs: number): Promise<void> {
    const { store, keys } = this.#term.world;
    const outcomes = fills.map((fill) => this.#failure(job, fill, nowMs));
    const keyOf = (outcome: Outcome): string => keys.outcome(job.namespace, job.name, outcome.allocation);
    const reply = await store.attempt({
      compares: [
        { key: keys.owner(job.namespace, job.name), target: 'createRevision', equals: job.ownerRevision },
        ...outcomes.map((outcome) => ({ key: keyOf(outcome), target: 'createRevision' as const, equals: 0 })),
      ],
      writes: outcomes.map((outcome) => ({
        kind: 'put' as const,
        key: keyOf(outcome),
        value: outcomeCodec.encode(outcome),
      })),
      readBack: [],
    });
    if (reply.outcome !== 'applied') this.#term.reload(job, RELOAD_DELAY_MS);
    else {
      job.landings += 1;
      for (const outcome of outcomes) job.addOutcome(outcome);
    }
  }

  #failure(job: OwnedJob, fill: Fill, nowMs: number): Outcome {
    const { world, options } = this.#term;
    const state = job.group(fill.group);
    const reason = state.explanation === null ? state.blockedWhy : shortly(state.explanation);
    return unplaceableOutcome(job.record.job, job.record.version, fill, {
      id: makeId(nowMs, world.random.bytes(16)),
      scheduler: options.id,
      why: reason === '' ? 'no place in time' : reason,
      nowMs,
    });
  }
}

const RELOAD_DELAY_MS = 1_000;

/** Slots of a system job share their index and differ by host. */
function withoutPlaced(fills: readonly Fill[], placed: readonly Entry[]): readonly Fill[] {
  const hosts = new Set(placed.map(({ allocation }) => allocation.host));
  const indices = new Set(placed.map(({ allocation }) => allocation.index));
  return fills.filter(({ host, index }) => (host === undefined ? !indices.has(index) : !hosts.has(host)));
}

/** The most important of an explanation in one line. */
export function shortly(explanation: Explanation): string {
  const { hosts, hostsTotal, refusals } = explanation;
  if (hostsTotal === 0) return 'there are no hosts';
  const [nearest] = hosts;
  if (nearest === undefined) return 'a host has room again';
  const counts = refusals.map(({ check, hosts: count }) => `${String(count)} by ${check}`).join(', ');
  return `no host fits (${counts} of ${String(hostsTotal)}); nearest ${nearest.host}: ${nearest.detail}`;
}
