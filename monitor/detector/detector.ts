/**
 * Who is at fault in the cell, and what is done about it.
 *
 * - `outcomes.ts`: what reports and refused orders come to, for the detector in `src/core/detector`
 * - `recent-changes.ts`: what was changed shortly before
 * - `verdicts.ts`: writes verdicts
 * - `remedies.ts`: applies remedies and undoes them; `closed-hosts.ts`: no more than a share of each pool; `remedy-budget.ts`:
 *   no more than so many an hour
 *
 * This file looks every second: makes verdicts, has their remedies applied, and ends them.
 */
import type { Finding } from '../../src/core/detector/attribution.ts';
import { Detector } from '../../src/core/detector/detector.ts';
import type { Remedy } from '../../src/core/detector/remedies.ts';
import { quarantineMsOf, remediesFor } from '../../src/core/detector/remedies.ts';
import { domainsOf, hostOf, hostSuspect, kindOf, revisionOf } from '../../src/core/detector/suspects.ts';
import type { Suspect } from '../../src/core/detector/suspects.ts';
import type { RemedyState, Verdict } from '../../src/core/detector/verdict.ts';
import { evidenceOf, isVerdictOn, verdictText } from '../../src/core/detector/verdict.ts';
import type { Host } from '../../src/core/host/host.ts';
import { DISK_FAULT } from '../../src/core/host/host.ts';
import type { StartRefusal } from '../../src/wire/api/host-api.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import { PeriodicTask } from '../../src/runtime/wait/periodic-task.ts';
import type { SchedulerEvent } from '../../src/wire/api/scheduler-api.ts';
import { monitorRank } from '../view/rank.ts';
import { Outcomes } from './outcomes.ts';
import { RecentChanges } from './recent-changes.ts';
import type { RemediesDeps } from './remedies.ts';
import { policyOf, Remedies } from './remedies.ts';
import { RemedyBudget } from './remedy-budget.ts';
import { ENDED_KEPT_MS, VerdictWriter } from './verdicts.ts';

const CHECK_MS = 1_000;
/** With many failures a second it is still not asked more often who is at fault. */
const JUDGED_MS = 2_000;
/** When nothing failed since, others may have proved well: then it may be known who is at fault. */
const JUDGED_AGAIN_MS = 10_000;
/** So long after the last failure it is looked again: others that began with it have proved well, or failed too. */
const OPEN_MS = 60_000;
/** Another monitor makes a verdict, or applies a remedy, when the one whose turn it is has not done so for this long. */
const TURN_MS = 4_000;
/** What is at fault stays so for as long at least: it may seem well because nothing is tried any more. */
const VERDICT_MIN_MS = 2 * 60_000;
/** Of those that are well again, so many must be for a verdict to end before its time. */
const PROBES_MIN = 2;
/** How a failure begins that is a host's refusal of work for which its disk has no room. */
const DISK_REFUSAL: StartRefusal = 'disk-full';

/** Finds who is at fault. Every monitor looks; the one of rank 0 for a suspect acts, the others when it does not. */
export class FaultWatch {
  readonly #deps: RemediesDeps;
  readonly #detector = new Detector();
  readonly #outcomes: Outcomes;
  readonly #changes: RecentChanges;
  readonly #verdicts: VerdictWriter;
  readonly #remedies: Remedies;
  readonly #budget: RemedyBudget;
  readonly #checks: PeriodicTask;
  /** Since when something waits to be done, on the monotonic clock. */
  readonly #waiting = new Map<string, number>();
  #failures = 0;
  #judgedMs = Number.NEGATIVE_INFINITY;
  #findings: readonly Finding[] = [];
  /** Hosts whose disk takes writes again, and did not while somebody watched. */
  readonly #writable = new Set<string>();
  /** When a failure was last seen, on the monotonic clock. */
  #failedMs = Number.NEGATIVE_INFINITY;

  constructor(deps: RemediesDeps) {
    this.#deps = deps;
    this.#outcomes = new Outcomes(deps, this.#detector);
    this.#changes = new RecentChanges(deps);
    this.#verdicts = new VerdictWriter(deps);
    this.#remedies = new Remedies(deps);
    this.#budget = new RemedyBudget(deps);
    this.#checks = new PeriodicTask(deps.clock, CHECK_MS, () => this.check());
  }

  close(): Promise<void> {
    return this.#checks.close();
  }

  /** The first copy of the store is there: what it holds is no change. */
  begin(): void {
    this.#changes.begin();
  }

  report(report: AllocationReport): void {
    this.#outcomes.report(report);
  }

  gone(report: AllocationReport): void {
    this.#outcomes.gone(report);
  }

  refused(event: SchedulerEvent): void {
    this.#outcomes.refused(event);
  }

  hostChanged(now: Host | undefined, before: Host | undefined): void {
    this.#changes.hostChanged(now, before);
    const [is, was] = [now?.attributes[DISK_FAULT], before?.attributes[DISK_FAULT]];
    const id = now?.id ?? before?.id ?? '';
    if (now === undefined || is !== undefined) this.#writable.delete(id);
    else if (was !== undefined) this.#diskIsBack(id);
  }

  #diskIsBack(host: string): void {
    const suspect = hostSuspect(host);
    this.#writable.add(host);
    this.#detector.forgive(suspect);
    this.#findings = this.#findings.filter((finding) => finding.suspect !== suspect);
  }

  /** Never rejects: what fails is tried again. */
  async check(): Promise<void> {
    const { copy, log, metrics } = this.#deps;
    this.#outcomes.prove();
    this.#judge();
    try {
      for (const finding of this.#findings) await this.#make(finding);
      let inForce = 0;
      for (const [, { value, modRevision }] of [...copy.verdicts.rows()]) {
        if (isVerdictOn(value)) inForce += 1;
        await this.#keepUp(value, modRevision);
      }
      metrics.gauge('moorage_monitor_verdicts', inForce);
      if (copy.closedHosts.size > 0 && monitorRank(this.#deps, 'closed-hosts') === 0)
        await this.#remedies.tidy();
    } catch (error) {
      log.debug({ error }, 'a verdict is not kept up yet; it is tried again');
    }
  }

  #judge(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    const hasFailed = this.#detector.failures !== this.#failures;
    if (hasFailed) this.#failedMs = nowMs;
    const isNews = hasFailed || this.#findings.length > 0;
    if (!isNews && nowMs - this.#failedMs >= OPEN_MS) return;
    if (nowMs - this.#judgedMs < (isNews ? JUDGED_MS : JUDGED_AGAIN_MS)) return;
    this.#judgedMs = nowMs;
    this.#failures = this.#detector.failures;
    const found = this.#detector.judge(nowMs, this.#changes.census());
    this.#findings = found.filter(({ isDecided }) => isDecided);
    this.#deps.metrics.gauge('moorage_monitor_undecided_faults', found.length - this.#findings.length);
  }

  async #make(finding: Finding): Promise<void> {
    const { copy, clock, self, log, metrics } = this.#deps;
    const { suspect } = finding;
    const known = copy.verdicts.get(suspect)?.value;
    const nowMs = Math.round(clock.nowMs());
    if (
      isVerdictOn(known) ||
      (known?.mutedUntilMs ?? 0) > nowMs ||
      this.#isMemberOfFault(suspect) ||
      this.#whyGone(suspect) !== null
    )
      return this.#done(`make ${suspect}`);
    if (!this.#isOurTurn(`make ${suspect}`, suspect)) return;
    const firstMs = Math.min(...finding.bad.map(({ firstFailedAtMs }) => firstFailedAtMs));
    const evidence = evidenceOf(finding, this.#changes.textsOf(suspect, firstMs));
    // The detector counts on a clock that cannot be set; records tell the time of day.
    const firstFailedAtMs = Math.round(nowMs - (clock.monotonicMs() - evidence.firstFailedAtMs));
    const remedies = remediesFor(policyOf(this.#deps), suspect).map((remedy): RemedyState => ({
      remedy,
      state: 'wanted',
      atMs: nowMs,
      detail: '',
    }));
    const verdict = {
      ...{ suspect, by: self, sinceMs: nowMs, remedies },
      evidence: { ...evidence, firstFailedAtMs },
    };
    if (!(await this.#verdicts.make(verdict))) return;
    metrics.count('moorage_monitor_verdicts_total', { kind: kindOf(suspect) });
    log.warn({ suspect, evidence }, verdictText(verdict));
  }

  /** Its rack or kernel is at fault already: that says it all. */
  #isMemberOfFault(suspect: Suspect): boolean {
    const { copy } = this.#deps;
    const host = copy.hostOf(hostOf(suspect) ?? '');
    if (host === undefined) return false;
    return domainsOf(host).some((domain) => isVerdictOn(copy.verdicts.get(domain)?.value));
  }

  async #keepUp(verdict: Verdict, revision: number): Promise<void> {
    const { suspect, endedAtMs } = verdict;
    const turn = `keep ${suspect}`;
    if (!isVerdictOn(verdict)) {
      const applied = verdict.remedies.find(({ state }) => state === 'applied' || state === 'wanted');
      const isOld = this.#deps.clock.nowMs() - (endedAtMs ?? 0) >= ENDED_KEPT_MS;
      if (applied === undefined && !isOld) return this.#done(turn);
      if (!this.#isOurTurn(turn, suspect)) return;
      if (applied === undefined) return this.#verdicts.forget(suspect, revision);
      if (applied.state === 'wanted')
        return this.#mark(verdict, applied.remedy, { state: 'refused', detail: 'the verdict ended before' });
      await this.#remedies.undo(applied.remedy, verdict);
      return this.#mark(verdict, applied.remedy, { state: 'undone', detail: '' });
    }
    const wanted = verdict.remedies.find(({ state }) => state === 'wanted');
    const over = wanted === undefined ? this.#whyOver(verdict) : null;
    if (wanted === undefined && over === null) return this.#done(turn);
    if (!this.#isOurTurn(turn, suspect)) return;
    if (wanted !== undefined) return this.#apply(wanted, verdict);
    await this.#verdicts.end(suspect, { by: this.#deps.self, why: over ?? '', mutedMs: 0 });
  }

  /** Within the budget of the cell; beyond it the remedy stays wanted, and says so. */
  async #apply(wanted: RemedyState, verdict: Verdict): Promise<void> {
    const { remedy } = wanted;
    const policy = policyOf(this.#deps);
    if (await this.#budget.take(policy, verdict, remedy)) {
      const became = await this.#remedies.apply(remedy, verdict);
      await this.#mark(verdict, remedy, became);
      if (became.state === 'refused') await this.#budget.giveBack(verdict, remedy);
      return;
    }
    // When there is some again, one monitor is first again.
    this.#done(`keep ${verdict.suspect}`);
    const detail = `waits: the budget of the cell is ${String(policy.perHourMax)} within an hour`;
    if (wanted.detail !== detail) await this.#mark(verdict, remedy, { state: 'wanted', detail });
  }

  async #mark(
    verdict: Verdict,
    remedy: Remedy,
    became: Pick<RemedyState, 'state' | 'detail'>,
  ): Promise<void> {
    const { clock, metrics } = this.#deps;
    const atMs = Math.round(clock.nowMs());
    const remedies = verdict.remedies.map((one) =>
      one.remedy === remedy ? { ...one, ...became, atMs } : one,
    );
    await this.#verdicts.mark(verdict.suspect, remedies);
    metrics.count('moorage_monitor_remedies_total', { remedy, state: became.state });
    this.#done(`keep ${verdict.suspect}`);
  }

  /** Why a verdict ends, for people; null: it does not. */
  #whyOver({ suspect, sinceMs, times, evidence }: Verdict): string | null {
    const { clock } = this.#deps;
    const ageMs = clock.nowMs() - sinceMs;
    const gone = this.#whyGone(suspect);
    if (gone !== null) return gone;
    if (ageMs < VERDICT_MIN_MS) return null;
    const wasDisk = evidence.reasons.some((reason) => reason.startsWith(DISK_REFUSAL));
    if (wasDisk && this.#writable.has(hostOf(suspect) ?? '')) return 'its disk takes writes again';
    const { bad, well } = this.#detector.standing(suspect as Suspect, clock.monotonicMs());
    if (bad === 0 && well >= PROBES_MIN) return `${String(well)} of it are well again`;
    const isTimed = revisionOf(suspect) === null;
    const forMs = quarantineMsOf(policyOf(this.#deps), times);
    return isTimed && ageMs >= forMs ? 'its time is over: it is tried again' : null;
  }

  /** Why nobody can be at fault, for people; null: it is still there. */
  #whyGone(suspect: string): string | null {
    const { copy } = this.#deps;
    const revision = revisionOf(suspect);
    if (revision !== null) {
      const record = copy.jobs.get(`${revision.namespace}/${revision.job}`)?.value;
      if (record === undefined || record.desired !== 'run') return 'its job is gone';
      return record.version !== revision.version && !this.#hasLeft(revision) ? 'nothing of it is left' : null;
    }
    const host = hostOf(suspect);
    return host !== null && copy.hosts.get(host) === undefined ? 'it is no longer registered' : null;
  }

  #hasLeft({ namespace, job, version }: { namespace: string; job: string; version: number }): boolean {
    for (const { jobVersion } of this.#deps.copy.allocationsOf(`${namespace}/${job}`))
      if (jobVersion === version) return true;
    return false;
  }

  #isOurTurn(what: string, suspect: string): boolean {
    const nowMs = this.#deps.clock.monotonicMs();
    const sinceMs = this.#waiting.get(what) ?? nowMs;
    this.#waiting.set(what, sinceMs);
    return nowMs - sinceMs >= monitorRank(this.#deps, suspect) * TURN_MS;
  }

  #done(what: string): void {
    this.#waiting.delete(what);
  }
}
