import { preemptionHosts } from '../../src/core/preemption/preemption.ts';
import { makeId } from '../../src/core/cell/ids.ts';
import type { Group } from '../../src/core/cell/job.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import type { Fill } from '../../src/core/slots/job-view.ts';
import { CAUSES } from '../../src/core/slots/job-view.ts';
import { chooseVictims } from '../../src/core/preemption/victims.ts';
import type { Term } from '../state/state.ts';
import type { EvictingPlan } from './preemption.ts';
import type { GangSearchParts } from './gang-search.ts';
import { HostQuestions, silentLast } from './host-queries.ts';
import type { GroupState, OwnedJob } from '../state/owned-job.ts';

/** Hosts asked for one slot, before it waits for room to come by itself. */
const HOSTS_MAX = 4;
/** Choices on one host, when what was chosen turns out to be leaving already. */
const CHOICES_MAX = 3;
/** How long hosts may take to say what runs on them: nothing else of the group is looked at meanwhile. */
const SEARCH_MAX_MS = 3_000;

/** Makes room for one slot: the first of some hosts that says what runs on it, and has somebody who may give way. */
export class SlotRoom {
  readonly #term: Term;
  readonly #parts: GangSearchParts;

  constructor(term: Term, parts: GangSearchParts) {
    this.#term = term;
    this.#parts = parts;
  }

  /** @returns a host where room could be made, as far as memory knows */
  host(job: OwnedJob, group: Group, fill: Fill): string | undefined {
    return this.#draw(job, group, fill, true);
  }

  /**
   * @returns the newcomer, assumed in memory, and who gives way to it, its host under `under`; null when no host was found
   * @throws StoreError
   */
  async find(job: OwnedJob, group: Group, state: GroupState, fill: Fill): Promise<EvictingPlan | null> {
    const { clock, log } = this.#term.world;
    const { under, victims } = this.#parts;
    const untilMs = clock.monotonicMs() + SEARCH_MAX_MS;
    const questions = new HostQuestions({ clock, log, victims });
    const answers: { readonly host: string; readonly running: readonly AllocationReport[] }[] = [];
    const asked: string[] = [];
    let plan: EvictingPlan | null = null;
    try {
      while (this.#isWanted(job, state, fill)) {
        const answer = answers.shift();
        if (answer !== undefined) {
          plan = await this.#chooseOn(answer.host, answer.running, job, group, state, fill);
          if (plan !== null) return plan;
          continue;
        }
        if (clock.monotonicMs() >= untilMs) return null;
        const mayAsk = asked.length < HOSTS_MAX && questions.onTime === 0;
        const host = mayAsk ? this.#draw(job, group, fill, questions.open === 0) : undefined;
        if (host !== undefined) {
          asked.push(host);
          under.add(host);
          questions.ask(host, (running) => running !== null && answers.push({ host, running }));
        } else if (questions.open === 0) return null;
        await questions.next(untilMs);
      }
      return null;
    } finally {
      questions.end();
      for (const host of asked) if (plan?.hosts.includes(host) !== true) under.delete(host);
    }
  }

  async #chooseOn(
    host: string,
    running: readonly AllocationReport[],
    job: OwnedJob,
    group: Group,
    state: GroupState,
    fill: Fill,
  ): Promise<EvictingPlan | null> {
    let left: readonly AllocationReport[] = running;
    for (let choices = 0; choices < CHOICES_MAX; choices++) {
      const victims = this.#victimsOn(host, left, job, group, fill)?.victims;
      if (victims === undefined) return null;
      const read = await this.#parts.victims.read(victims, `${CAUSES.evicted} ${job.key}`);
      const leaving = victims.filter(({ id }) => read.get(id)?.victim.desired !== 'run');
      left = left.filter((report) => !leaving.includes(report));
      if (leaving.length > 0) continue;
      if (!this.#isWanted(job, state, fill) || this.#parts.isPaused()) return null;
      // Looked at again: while the store was read, the ledger may have moved on.
      const choice = this.#victimsOn(host, left, job, group, fill);
      const evictions = choice?.victims.flatMap(({ id }) => read.get(id) ?? []);
      if (choice === undefined || evictions?.length !== choice.victims.length) continue;
      const evicts = evictions.map(({ victim }) => victim.id);
      const made = { planId: this.#newId(), placement: choice.placement, evicts };
      const entries = [this.#parts.placer.assume(job, group, fill, made)];
      return { id: made.planId, entries, evictions, hosts: [host], atomicity: this.#term.options.atomicity };
    }
    return null;
  }

  #victimsOn(host: string, running: readonly AllocationReport[], job: OwnedJob, group: Group, fill: Fill) {
    const { state } = this.#term.cell;
    const record = state.hostOf(host);
    if (record === undefined) return undefined;
    const request = this.#parts.placer.evictingRequest(job, group, fill);
    return (
      chooseVictims(record, state.ledgerOf(host), request, running, this.#term.world.random) ?? undefined
    );
  }

  /** Hosts under an eviction are passed over, and with them those that were asked. */
  #draw(job: OwnedJob, group: Group, fill: Fill, isLastResort: boolean): string | undefined {
    const { cell, hostCalls, world } = this.#term;
    const { placer, under } = this.#parts;
    const request = placer.evictingRequest(job, group, fill);
    const isSilent = (host: string): boolean => hostCalls.isSilent(host);
    return silentLast(isSilent, isLastResort, (isPassed) => {
      // Whoever is silent is in no set.
      const size = Number.POSITIVE_INFINITY;
      const passed = { size, has: (host: string) => under.has(host) || isPassed(host) };
      return preemptionHosts(cell.state, request, world.random, { excluded: passed, most: 1 })[0];
    });
  }

  /** While others were asked, the slot may have been filled, or the job changed or gone. */
  #isWanted(job: OwnedJob, state: GroupState, fill: Fill): boolean {
    if (this.#term.signal.aborted || job.dropped || job.stale || job.finishing) return false;
    if (job.groups.get(fill.group) !== state) return false;
    return this.#parts.fillsOf(job).some((now) => isSameSlot(now, fill));
  }

  #newId(): string {
    const { clock, random } = this.#term.world;
    return makeId(Math.floor(clock.nowMs()), random.bytes(16));
  }
}

function isSameSlot(a: Fill, b: Fill): boolean {
  return a.group === b.group && a.index === b.index && a.attempt === b.attempt && a.host === b.host;
}
