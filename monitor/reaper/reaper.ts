import type { Allocation, Outcome } from '../../src/core/cell/allocation.ts';
import type { Epoch } from '../../src/core/cell/epoch.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import {
  forgottenOutcome,
  outcomeOf,
  OUTCOMES_PER_SLOT_MAX,
  surplusOutcomes,
} from '../../src/core/slots/outcomes.ts';
import type { PlanOutcome, Release } from '../../src/core/commit/plan.ts';
import { isTerminal, OBSERVED_RANK } from '../../src/core/host/states.ts';
import type { HostClient, StopOutcome } from '../../src/clients/host-client.ts';
import type { CellStore, Write } from '../../src/ports/cell-store.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Random } from '../../src/ports/random.ts';
import type { Log, Metrics } from '../../src/ports/telemetry.ts';
import type { CellView } from '../../src/runtime/reports/cell-view.ts';
import type { StopRequest } from '../../src/wire/api/host-api.ts';
import { allocationCodec } from '../../src/wire/records/records.ts';
import type { CellCopy } from '../view/view.ts';
import { every } from '../../src/runtime/wait/wait.ts';
import { monitorRank } from '../hosts/hosts.ts';
import { IntentSweeper } from './intent-sweeper.ts';
import type { JobStatuses } from '../jobs/jobs.ts';
import type { Row } from '../view/record-cache.ts';

export interface ReaperTimes {
  /** How long a job may be without an owner before its leftovers are finished here. */
  readonly ownerlessMs: number;
  /** How long a lost host's allocation without an owner is kept before its room is given back. */
  readonly orphanMs: number;
  /** How long a finished one-off run, its outcome and its output stay. */
  readonly runRetentionMs: number;
  /** How long the outcomes of a job whose record is gone stay. */
  readonly outcomeRetentionMs: number;
}

export const REAPER_TIMES: ReaperTimes = {
  ownerlessMs: 60_000,
  orphanMs: 24 * 3_600_000,
  runRetentionMs: 3_600_000,
  outcomeRetentionMs: 24 * 3_600_000,
};

export interface ReaperDeps {
  readonly self: string;
  readonly store: CellStore;
  readonly keys: CellKeys;
  readonly copy: CellCopy;
  readonly view: CellView;
  readonly statuses: JobStatuses;
  readonly hosts: HostClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly times: ReaperTimes;
  /** Commits releases: record and claim go, the outcome is written, in one transaction a host. */
  release(releases: readonly Release[]): Promise<PlanOutcome>;
}

const SWEEP_MS = 1_000;
/** Jobs looked at in one sweep; all of them have their turn, sweep by sweep. */
const JOBS_PER_SWEEP = 500;
/** How an allocation ended whose host was lost for the orphan time: on the host it may run on. */
const GIVEN_UP = 'host-lost';
/** Deletes in one transaction, well under every store's limit. */
const DELETES_MAX = 50;

/**
 * Finishes what has no owner. Level-triggered: it looks at every job again and again and remembers nothing that matters,
 * so a restart, or an event that was missed, loses nothing (S1.22, S1.36). Jobs are divided among the living monitors by
 * rendezvous hashing; two that act on the same job are kept apart by the compares.
 *
 * Absence is no evidence here either: room is given back only when the host confirmed the release, said that it never had
 * the allocation, or was declared lost and stayed so for the orphan time.
 */
export class Reaper {
  readonly #deps: ReaperDeps;
  readonly #ownerlessSince = new Map<string, number>();
  readonly #intents: IntentSweeper;
  readonly #stop: () => void;
  #round: Iterator<string> | null = null;
  #sweeping: Promise<void> | null = null;

  constructor(deps: ReaperDeps) {
    this.#deps = deps;
    this.#intents = new IntentSweeper(deps);
    this.#stop = every(deps.clock, SWEEP_MS, () => {
      this.#sweeping ??= this.sweep().finally(() => (this.#sweeping = null));
    });
  }

  async close(): Promise<void> {
    this.#stop();
    this.#intents.close();
    await this.#sweeping;
  }

  /** One sweep over the next jobs. Never rejects: what fails is tried again in the next round. */
  async sweep(): Promise<void> {
    await this.#intents.sweep();
    for (const jobKey of this.#nextJobs()) {
      if (monitorRank(this.#deps.copy, this.#deps.self, jobKey) !== 0) continue;
      try {
        await this.#look(jobKey);
      } catch (error) {
        this.#deps.log.debug({ jobKey, error }, 'reaping failed; it is tried again');
      }
    }
  }

  #nextJobs(): string[] {
    const jobs: string[] = [];
    for (let count = 0; count < JOBS_PER_SWEEP; count++) {
      this.#round ??= this.#allJobs();
      const next = this.#round.next();
      if (next.done === true) {
        this.#round = null;
        break;
      }
      jobs.push(next.value);
    }
    return jobs;
  }

  *#allJobs(): Generator<string> {
    const { copy } = this.#deps;
    const all = new Set([
      ...copy.jobs.names(),
      ...copy.allocationsByJob.keys(),
      ...copy.outcomesByJob.keys(),
    ]);
    for (const jobKey of this.#ownerlessSince.keys())
      if (!all.has(jobKey)) this.#ownerlessSince.delete(jobKey);
    yield* all;
  }

  async #look(jobKey: string): Promise<void> {
    const { copy, times } = this.#deps;
    const ownerless = this.#ownerlessFor(jobKey) >= times.ownerlessMs;
    // Somebody works on it: nothing to do, and no need to read its record, unless its ends pile up.
    const isOwned = copy.owners.has(jobKey);
    if (isOwned && copy.outcomesByJob.of(jobKey).size <= OUTCOMES_PER_SLOT_MAX) return;
    const record = copy.jobs.get(jobKey)?.value;
    if (ownerless && record?.desired !== 'run') {
      for (const row of copy.allocationsByJob.of(jobKey).values())
        await this.#finish(row, record !== undefined || !this.#wasRestored);
      for (const { value } of copy.outcomesByJob.of(jobKey).values()) await this.#stopReturned(value);
    }
    if (record === undefined) return this.#dropOldOutcomes(jobKey);
    await this.#dropSurplusOutcomes(jobKey);
    if (record.job.oneOff) await this.#dropRun(jobKey);
  }

  get #wasRestored(): boolean {
    return this.#deps.copy.meta.get('')?.value.restoredAtMs !== undefined;
  }

  #ownerlessFor(jobKey: string): number {
    if (this.#deps.copy.owners.has(jobKey)) {
      this.#ownerlessSince.delete(jobKey);
      return 0;
    }
    const nowMs = this.#deps.clock.monotonicMs();
    const since = this.#ownerlessSince.get(jobKey) ?? nowMs;
    this.#ownerlessSince.set(jobKey, since);
    return nowMs - since;
  }

  /**
   * Brings one allocation a step nearer to its end.
   * @param mayStop its job was stopped or deleted. One that a restored store does not have may be lost: absence stops nothing
   */
  async #finish(row: Row<Allocation>, mayStop: boolean): Promise<void> {
    const { value: allocation, modRevision } = row;
    const { view, copy, clock } = this.#deps;
    const report = view.get(allocation.host, allocation.id);
    if (report !== undefined && report.released && isTerminal(report.state))
      return this.#release({
        allocation,
        revision: modRevision,
        outcome: outcomeOf(allocation, report, clock.nowMs()),
      });
    const sight = view.host(allocation.host);
    if (sight === undefined || sight.staleSinceMs !== null) {
      const isLost = copy.eligibility.get(allocation.host)?.value.state === 'lost';
      const silentMs = clock.nowMs() - (sight?.staleSinceMs ?? clock.nowMs());
      if (!isLost || silentMs < this.#deps.times.orphanMs) return;
      const outcome = forgottenOutcome(allocation, GIVEN_UP, clock.nowMs());
      return this.#release({ allocation, revision: modRevision, outcome });
    }
    if (allocation.desired === 'run' && !mayStop) return;
    if (allocation.desired === 'run') return this.#orderStop(row);
    await this.#stopOnHost(row);
  }

  async #orderStop({ value, modRevision }: Row<Allocation>): Promise<void> {
    const { store, keys } = this.#deps;
    const key = keys.allocation(value.namespace, value.job, value.id);
    const wanted: Allocation = { ...value, desired: 'stop', cause: 'stopped by user' };
    await store.attempt({
      compares: [{ key, target: 'modRevision', equals: modRevision }],
      writes: [{ kind: 'put', key, value: allocationCodec.encode(wanted) }],
      readBack: [],
    });
    this.#deps.metrics.count('moorage_monitor_reaped_total', { what: 'stop' });
  }

  /**
   * Its host was lost for so long that its place was given away, and is back with what it ran. The durable end, written
   * when it was given up, is what stops it, not that no record names it.
   */
  async #stopReturned({ allocation: id, host, exit }: Outcome): Promise<void> {
    if (exit?.lost !== GIVEN_UP || !this.#isHeard(host)) return;
    const report = this.#deps.view.get(host, id);
    if (report === undefined || OBSERVED_RANK[report.state] >= OBSERVED_RANK.stopping) return;
    await this.#orderHost(
      { id, host, epoch: null },
      'stop',
      'its place was given up while its host was lost',
    );
    this.#deps.metrics.count('moorage_monitor_reaped_total', { what: 'returned' });
  }

  async #stopOnHost({ value: allocation, modRevision }: Row<Allocation>): Promise<void> {
    const { clock } = this.#deps;
    const mode = allocation.desired === 'run' ? 'stop' : allocation.desired;
    const answer = await this.#orderHost(allocation, mode, allocation.cause ?? 'its job has no owner');
    if (answer?.kind !== 'absent') return;
    // The host never had it, and from now on refuses to start it.
    const outcome = forgottenOutcome(allocation, 'never-started', clock.nowMs());
    await this.#release({ allocation, revision: modRevision, outcome });
  }

  /** @param what `epoch`: of its placing; null where nobody knows it any more @returns null when there is nobody to ask */
  async #orderHost(
    what: { readonly id: string; readonly host: string; readonly epoch: Epoch | null },
    mode: StopRequest['mode'],
    cause: string,
  ): Promise<StopOutcome | null> {
    const { hosts, copy, log } = this.#deps;
    const { id, host } = what;
    const address = copy.hosts.get(host)?.value.address;
    // The cell's own: a host that has heard of a restore refuses what comes from before it.
    const incarnation = copy.meta.get('')?.value.incarnation ?? what.epoch?.incarnation;
    if (address === undefined || incarnation === undefined) return null;
    const epoch = { incarnation, counter: this.#counterFor(host, what.epoch) };
    const answer = await hosts.stop(address, id, { commandId: `${id}-reap`, epoch, mode, cause });
    if (answer.kind === 'refused') log.warn({ allocation: id, host, ...answer }, 'a host refused to stop');
    return answer;
  }

  /** The present one: a host that heard of a later verdict refuses the epoch of the placing for ever. */
  #counterFor(host: string, epoch: Epoch | null): number {
    const { copy } = this.#deps;
    const verdict = copy.eligibility.get(host)?.value.counter ?? 0;
    return Math.max(verdict, copy.ledgers.get(host)?.value.counter ?? 0, epoch?.counter ?? 0);
  }

  async #release(release: Release): Promise<void> {
    await this.#deps.release([release]);
    this.#deps.metrics.count('moorage_monitor_reaped_total', { what: 'release' });
  }

  async #dropOldOutcomes(jobKey: string): Promise<void> {
    const oldest = this.#deps.clock.nowMs() - this.#deps.times.outcomeRetentionMs;
    const rows = [...this.#deps.copy.outcomesByJob.of(jobKey).values()];
    const old = rows.filter((row) => row.value.endedAtMs < oldest);
    const left = await this.#forgetOnHosts(old.map((row) => row.value));
    await this.#deleteOutcomes(old.filter((row) => !left.has(row.value.allocation)).map((row) => row.value));
  }

  async #dropSurplusOutcomes(jobKey: string): Promise<void> {
    const job = this.#deps.copy.jobs.get(jobKey)?.value.job;
    const rows = this.#deps.copy.outcomesByJob.of(jobKey);
    if (job === undefined || rows.size <= OUTCOMES_PER_SLOT_MAX) return;
    const slots = new Map<string, Outcome[]>();
    for (const { value } of rows.values()) {
      const slot = `${value.group}/${String(value.index)}`;
      slots.set(slot, [...(slots.get(slot) ?? []), value]);
    }
    const surplus = [...slots.values()].flatMap((history) => {
      const policy = job.groups[history[0]?.group ?? '']?.reschedule;
      if (policy === undefined) return [];
      history.sort((a, b) => a.attempt - b.attempt || a.endedAtMs - b.endedAtMs);
      return surplusOutcomes(history, policy, OUTCOMES_PER_SLOT_MAX);
    });
    const left = await this.#forgetOnHosts(surplus);
    await this.#deleteOutcomes(surplus.filter((outcome) => !left.has(outcome.allocation)));
  }

  /** A finished one-off run past its retention goes: records on hosts, outcomes, then the job and its key together. */
  async #dropRun(jobKey: string): Promise<void> {
    const { copy, statuses, clock, times, store, keys } = this.#deps;
    const row = copy.jobs.get(jobKey);
    const phase = statuses.summary(jobKey)?.phase;
    if (row === undefined || phase === undefined || phase === 'pending' || phase === 'running') return;
    if (copy.allocationsByJob.of(jobKey).size > 0) return;
    const outcomes = [...copy.outcomesByJob.of(jobKey).values()].map((outcome) => outcome.value);
    const endedMs = Math.max(row.value.submittedAtMs, ...outcomes.map((outcome) => outcome.endedAtMs));
    if (clock.nowMs() - endedMs < times.runRetentionMs) return;
    if ((await this.#forgetOnHosts(outcomes)).size > 0) return;
    const { namespace, name } = row.value.job;
    const key = keys.job(namespace, name);
    const runs = [...copy.runsByJob.of(jobKey).keys()].map((run) => keys.runs + run);
    // The job goes first: its outcomes alone could make a scheduler run it again, once they were gone.
    const reply = await store.attempt({
      compares: [{ key, target: 'modRevision', equals: row.modRevision }],
      writes: [key, ...runs].slice(0, DELETES_MAX).map((gone) => ({ kind: 'delete', key: gone })),
      readBack: [],
    });
    if (reply.outcome === 'applied') await this.#deleteOutcomes(outcomes);
    this.#deps.metrics.count('moorage_monitor_reaped_total', { what: 'run' });
  }

  /**
   * Lets hosts forget what is durably ended. That a host has no report of it counts only while the host is heard: a view
   * that has not heard it yet, or no longer, says nothing of what it keeps.
   * @returns the ids that a host still has or may have: try again later
   */
  async #forgetOnHosts(outcomes: readonly Outcome[]): Promise<ReadonlySet<string>> {
    const left = new Set<string>();
    for (const { allocation, host } of outcomes) {
      const report = this.#deps.view.get(host, allocation);
      const address = this.#deps.copy.hosts.get(host)?.value.address;
      if (address === undefined) continue;
      const isHeard = this.#isHeard(host);
      if (!isHeard && this.#isGivenUp(host)) continue;
      if (report === undefined && isHeard) continue;
      left.add(allocation);
      if (report?.released !== true) continue;
      const answer = await this.#deps.hosts.remove(address, allocation, `${allocation}-reap-remove`);
      if (answer.kind === 'removed') left.delete(allocation);
    }
    return left;
  }

  /** The first word that a view takes of a host is a full report, so a host that is heard has told all it has. */
  #isHeard(host: string): boolean {
    const sight = this.#deps.view.host(host);
    return sight !== undefined && sight.asOfMs !== null && sight.staleSinceMs === null;
  }

  /** Lost for so long that nothing waits for it any more. */
  #isGivenUp(host: string): boolean {
    const { copy, clock, times } = this.#deps;
    const verdict = copy.eligibility.get(host)?.value;
    return verdict?.state === 'lost' && clock.nowMs() - verdict.sinceMs >= times.orphanMs;
  }

  async #deleteOutcomes(outcomes: readonly Outcome[]): Promise<void> {
    const { store, keys } = this.#deps;
    for (let at = 0; at < outcomes.length; at += DELETES_MAX) {
      const gone = outcomes.slice(at, at + DELETES_MAX);
      const outcomeKeys = gone.map((one) => keys.outcome(one.namespace, one.job, one.allocation));
      const writes = outcomeKeys.map((key): Write => ({ kind: 'delete', key }));
      // Outcomes are created once and never changed: there is nothing to compare.
      await store.attempt({ compares: [], writes, readBack: [] });
      this.#deps.metrics.count('moorage_monitor_reaped_total', { what: 'outcome' }, writes.length);
    }
  }
}
