import type { Allocation, Exit, Outcome } from '../../../src/core/cell/allocation.ts';
import type { Eligibility } from '../../../src/core/host/host.ts';
import type { GrantBatch } from '../../../src/core/quota/grant.ts';
import type { Quota } from '../../../src/core/quota/quota.ts';
import { jobKeyOf } from '../../../src/core/cell/ids.ts';
import type { Group, Job, JobRecord } from '../../../src/core/cell/job.ts';
import type { ProcessIdentity } from '../../../src/ports/process.ts';
import { parseAttemptName } from '../../../src/wire/host-files/attempt-files.ts';
import type { ActorKind, GrantFact } from '../../history/facts.ts';
import type { OrderRecord, RecordedHistory, Stamp, Stamped } from '../../history/history.ts';
import type { Step } from './replay.ts';
import { allocationOf, departuresIn } from './departures.ts';

/** All that became of one allocation id in the store. */
export interface AllocationStory {
  /** As it was first committed. */
  readonly allocation: Allocation;
  readonly jobKey: string;
  readonly slot: string;
  readonly created: Stamp;
  /** When it became more than reserved; null: not yet, or never. */
  effective: Stamp | null;
  /** Its last value. */
  desired: Allocation['desired'];
  /** When it first should no longer run. */
  unwanted: Stamp | null;
  deleted: Stamp | null;
  /** When its record was lost with the store; null: never, or it is there again. */
  lost: Stamp | null;
  outcome: Stamped<Outcome> | null;
}

/** One execution of a task's command, as the host's kernel saw it. */
export interface ProcessStory {
  readonly host: string;
  readonly attempt: string;
  readonly allocation: string;
  readonly task: string;
  readonly number: number;
  readonly process: ProcessIdentity;
  readonly started: Stamp;
  /** The devices that its environment names, by index. */
  readonly gpus: readonly number[];
  ended: Stamped<Exit> | null;
}

/** A value over time; the last entry holds now. */
export type Timeline<T> = Stamped<T>[];

/** The facts of a run by what they are about: allocations, jobs, hosts, processes. */
export class RunIndex {
  readonly allocations = new Map<string, AllocationStory>();
  /** Outcomes of slots that never had an allocation are here only. */
  readonly outcomes = new Map<string, Stamped<Outcome>>();
  /** By `<namespace>/<job>`: every record that was ever written; null when it was deleted. */
  readonly jobs = new Map<string, Timeline<JobRecord | null>>();
  readonly eligibility = new Map<string, Timeline<Eligibility | null>>();
  readonly quotas = new Map<string, Timeline<Quota | null>>();
  /** What requests were granted against quotas, by batch, and when each batch was deleted. */
  readonly grantBatches = new Map<string, { readonly batch: GrantBatch; deleted: Stamp | null }>();
  /** Processes in the order of their starts. */
  readonly processes: ProcessStory[] = [];
  readonly processesOf = new Map<string, ProcessStory[]>();
  /** When each allocation had left its host for good, as `departuresIn` says. */
  readonly leftHost: ReadonlyMap<string, Stamp>;
  /** Orders of each allocation to its host, in their order. */
  readonly ordersOf = new Map<string, OrderRecord[]>();
  /** When each host lost its power. */
  readonly outages = new Map<string, Stamp[]>();
  readonly grants: readonly Stamped<GrantFact>[];
  readonly roles = new Map<string, ActorKind>();
  readonly quietFrom: Stamp | null;
  /** The same, or the last kill after it: the crash sweep kills in the quiet period, too. */
  readonly faultlessFrom: Stamp | null;
  readonly end: Stamp;

  /** @param end of the run, where it is not the recorded one */
  constructor(history: RecordedHistory, end = endOf(history)) {
    for (const { fact } of history.actors) this.roles.set(fact.actor, fact.role);
    this.quietFrom = history.phases.find(({ fact }) => fact.phase === 'quiet') ?? null;
    const killed = history.actors.findLast(({ fact }) => fact.change === 'killed');
    const isLater = killed !== undefined && this.quietFrom !== null && killed.seq > this.quietFrom.seq;
    this.faultlessFrom = isLater ? killed : this.quietFrom;
    this.end = end;
    this.grants = history.grants;
    this.#takeHosts(history);
    this.leftHost = departuresIn(history);
    for (const record of history.orders) pushTo(this.ordersOf, allocationOf(record), record);
  }

  /** The facts of one revision. */
  apply(step: Step, at: Stamp): void {
    for (const { after, before } of step.changed.allocations) {
      const known = this.allocations.get((after ?? before)?.id ?? '');
      if (after === undefined) {
        if (known === undefined) continue;
        if (step.initial) known.lost = at;
        else known.deleted = at;
        continue;
      }
      const story = known ?? this.#created(after, at);
      story.desired = after.desired;
      // In a restored store older values come again, and what it lost comes back under the same id.
      if (before === undefined) [story.deleted, story.lost] = [null, null];
      if (after.desired === 'run') story.unwanted = null;
      else story.unwanted ??= at;
    }
    for (const { before, after } of step.changed.intents)
      if (after === undefined && before?.state === 'open') this.#effective(before.id, at);
    for (const { after } of step.changed.outcomes) {
      if (after === undefined) continue;
      const stamped = { seq: at.seq, atMs: at.atMs, fact: after };
      this.outcomes.set(after.allocation, stamped);
      const story = this.allocations.get(after.allocation);
      if (story !== undefined) story.outcome ??= stamped;
    }
    for (const { name, after } of step.changed.jobs) pushTo(this.jobs, name, stampedAt(at, after ?? null));
    for (const { name, after } of step.changed.eligibility)
      pushTo(this.eligibility, name, stampedAt(at, after ?? null));
    for (const { name, after } of step.changed.quotas)
      pushTo(this.quotas, name, stampedAt(at, after ?? null));
    for (const { name, before, after } of step.changed.grantBatches) {
      const known = this.grantBatches.get(name);
      if (after !== undefined) this.grantBatches.set(name, { batch: after, deleted: null });
      else if (before !== undefined && known !== undefined) known.deleted = at;
    }
  }

  /** The spec by which the allocation was made. */
  jobOf(allocation: Allocation): Job | null {
    const records = this.jobs.get(jobKeyOf(allocation.namespace, allocation.job)) ?? [];
    return records.find(({ fact }) => fact?.version === allocation.jobVersion)?.fact?.job ?? null;
  }

  /** The group by which the allocation was made. */
  groupOf(allocation: Allocation): Group | undefined {
    return this.jobOf(allocation)?.groups[allocation.group];
  }

  /** The longest time between the signal and SIGKILL of its tasks. */
  graceMsOf(allocation: Allocation): number {
    return Math.max(
      0,
      ...Object.values(this.groupOf(allocation)?.tasks ?? {}).map(({ stop }) => stop.graceMs),
    );
  }

  /** The eligibility of a host at a place of the run. */
  eligibilityAt(host: string, seq: number): Eligibility['state'] {
    return valueAt(this.eligibility.get(host) ?? [], seq)?.state ?? 'ready';
  }

  #created(allocation: Allocation, at: Stamp): AllocationStory {
    const jobKey = jobKeyOf(allocation.namespace, allocation.job);
    const story: AllocationStory = {
      allocation,
      jobKey,
      slot: `${jobKey}/${allocation.group}[${String(allocation.index)}]`,
      created: at,
      effective: allocation.intent === undefined ? at : null,
      desired: allocation.desired,
      unwanted: allocation.desired === 'run' ? null : at,
      deleted: null,
      lost: null,
      outcome: null,
    };
    this.allocations.set(allocation.id, story);
    return story;
  }

  #effective(intent: string, at: Stamp): void {
    for (const story of this.allocations.values())
      if (story.allocation.intent === intent) story.effective ??= at;
  }

  #takeHosts(history: RecordedHistory): void {
    const running = new Map<string, ProcessStory>();
    for (const { seq, atMs, fact } of history.hosts) {
      if (fact.kind === 'started') {
        const name = parseAttemptName(fact.attempt);
        if (name === null) continue;
        const { host, attempt, process, gpus = [] } = fact;
        const { allocation, task, number } = name;
        const started = { seq, atMs };
        const story = { host, attempt, process, allocation, task, number, started, gpus, ended: null };
        this.processes.push(story);
        pushTo(this.processesOf, allocation, story);
        running.set(processName(host, process), story);
      } else if (fact.kind === 'ended') {
        const story = running.get(processName(fact.host, fact.process));
        if (story !== undefined && story.ended === null) story.ended = { seq, atMs, fact: fact.exit };
      } else if (fact.kind === 'power-off' || fact.kind === 'boot') {
        if (fact.kind === 'power-off') pushTo(this.outages, fact.host, { seq, atMs });
        for (const [name, story] of running) {
          if (story.host !== fact.host) continue;
          story.ended ??= { seq, atMs, fact: { lost: 'host-reboot' } };
          running.delete(name);
        }
      }
    }
  }
}

/** The value at a place of the run; undefined before the first entry. */
export function valueAt<T>(timeline: readonly Stamped<T>[], seq: number): T | undefined {
  let value: T | undefined;
  for (const entry of timeline) {
    if (entry.seq > seq) break;
    value = entry.fact;
  }
  return value;
}

export function pushTo<T>(lists: Map<string, T[]>, key: string, value: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

export function processName(host: string, { boot, pid, start }: ProcessIdentity): string {
  return `${host}/${boot}/${String(pid)}/${String(start)}`;
}

function stampedAt<T>({ seq, atMs }: Stamp, fact: T): Stamped<T> {
  return { seq, atMs, fact };
}

function endOf(history: RecordedHistory): Stamp {
  return history.phases.find(({ fact }) => fact.phase === 'end') ?? lastOf(history);
}

function lastOf(history: RecordedHistory): Stamp {
  const last = { seq: 0, atMs: 0 };
  for (const facts of [history.revisions, history.hosts, history.actors, history.views]) {
    const end = facts.at(-1);
    if (end !== undefined && end.seq > last.seq) Object.assign(last, { seq: end.seq, atMs: end.atMs });
  }
  return last;
}
