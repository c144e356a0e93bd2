import type { Exit } from '../../src/core/cell/allocation.ts';
import type { Group, Job } from '../../src/core/cell/job.ts';
import type { Detector } from '../../src/core/detector/detector.ts';
import type { Suspect } from '../../src/core/detector/suspects.ts';
import { domainsOf, hostSuspect, revisionName } from '../../src/core/detector/suspects.ts';
import type { Subject, TrialKind } from '../../src/core/detector/units.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import { isTerminal } from '../../src/core/host/states.ts';
import { isUp, notReadyOf } from '../../src/core/slots/rollout.ts';
import type { SchedulerEvent } from '../../src/wire/api/scheduler-api.ts';
import type { MonitorContext } from '../context.ts';

/** So long something must be up until it counts as well. */
export const PROVEN_MS = 10_000;

/** Refusals that say that something is wrong with the host; all others are about the order, or about room. */
const HOSTS_FAULT = /^(disk-full|store-away|internal)\b/;
/** What an attempt ends with that could not get what it needs. */
const NOT_FETCHED = /fetch|download|sha256|registry/i;

/** Of the task, or of what should have run it; not that nobody saw how it ended. */
function isOwnEnd({ lost }: Exit): boolean {
  return lost === undefined || lost === 'not-run';
}

interface Seen {
  readonly subject: Subject;
  /** Since when it is up, on the monotonic clock; null: it is not. */
  upSinceMs: number | null;
  /** It counts as well. */
  isCounted: boolean;
  /** Attempts of its tasks that have ended. */
  ended: number;
  hasStarted: boolean;
  hasFailingCheck: boolean;
}

type Ports = Pick<MonitorContext, 'copy' | 'clock'>;

/** Tells the detector what the merged reports of the hosts, and the schedulers' refused orders, come to. */
export class Outcomes {
  readonly #ports: Ports;
  readonly #detector: Detector;
  readonly #seen = new Map<string, Seen>();
  /** Up, and not for long enough yet. */
  readonly #proving = new Set<Seen>();

  constructor(ports: Ports, detector: Detector) {
    this.#ports = ports;
    this.#detector = detector;
  }

  report(report: AllocationReport): void {
    const known = this.#seen.get(report.id);
    const seen = known ?? this.#newSeen(report);
    if (seen === null) return;
    this.#seen.set(report.id, seen);
    const isWanted = this.#isWanted(report);
    if (isWanted) this.#countEnds(report, seen, known !== undefined);
    if (!seen.hasStarted && report.state === 'running') this.#started(seen);
    this.#watchChecks(report, seen, isWanted);
    this.#watchUp(report, seen);
    if (!isTerminal(report.state)) return;
    if (report.state === 'complete' && known !== undefined) this.#tell('run', seen.subject, null);
    this.#drop(report.id);
  }

  gone(report: AllocationReport): void {
    this.#drop(report.id);
  }

  /** Of a scheduler: `refused-host`. */
  refused({ kind, namespace, job, host, slot, detail }: SchedulerEvent): void {
    if (kind !== 'refused-host' || host === undefined || !HOSTS_FAULT.test(detail)) return;
    const record = this.#ports.copy.jobs.get(`${namespace}/${job}`)?.value;
    const group = Object.values(record?.job.groups ?? {}).find(({ name }) => groupOfSlot(slot, job) === name);
    if (record === undefined || group === undefined) return;
    const subject = this.#subject(record.job, group.name, record.version, host);
    if (subject !== null) this.#tell('start', subject, detail);
  }

  /** What has been up for long enough is well. */
  prove(): void {
    const { clock } = this.#ports;
    const nowMs = clock.monotonicMs();
    for (const seen of this.#proving) {
      if (seen.upSinceMs === null || nowMs - seen.upSinceMs < PROVEN_MS) continue;
      this.#proving.delete(seen);
      seen.isCounted = true;
      this.#detector.up(seen.subject, nowMs, 1);
    }
  }

  #newSeen(report: AllocationReport): Seen | null {
    if (isTerminal(report.state)) return null;
    const { namespace, job, jobVersion, group, host } = report;
    const jobKey = `${namespace}/${job}`;
    const { copy } = this.#ports;
    const spec = copy.recordOf(jobKey, jobVersion)?.job;
    const subject = spec === undefined ? null : this.#subject(spec, group, jobVersion, host);
    if (subject === null) return null;
    return {
      ...{ subject, upSinceMs: null, isCounted: false, ended: 0 },
      ...{ hasStarted: false, hasFailingCheck: false },
    };
  }

  #subject(job: Job, groupName: string, version: number, hostName: string): Subject | null {
    const host = this.#ports.copy.hostOf(hostName);
    const group = job.groups[groupName];
    if (host === undefined || group === undefined) return null;
    const { namespace, name } = job;
    const revision = revisionName({ namespace, job: name, group: groupName, version });
    const suspects: Suspect[] = [hostSuspect(hostName), ...domainsOf(host), ...sourcesOf(group)];
    // A one-off run is its user's own business: nobody rolls it out.
    if (!job.oneOff) suspects.push(`revision/${revision}`);
    return { job: `${namespace}/${name}`, revision, host: hostName, suspects };
  }

  /** What is told to end, or is about to, says nothing of anybody by how it ends. */
  #isWanted({ namespace, job, id, state }: AllocationReport): boolean {
    if (state === 'stopping' || state === 'killed' || state === 'lost') return false;
    const allocation = this.#ports.copy.allocations.get(`${namespace}/${job}/${id}`)?.value;
    return allocation === undefined || allocation.desired === 'run';
  }

  #countEnds(report: AllocationReport, seen: Seen, isNews: boolean): void {
    let ended = 0;
    let last: Exit | undefined;
    for (const { exit, lastExit, restarts } of Object.values(report.tasks)) {
      ended += restarts + (exit === undefined ? 0 : 1);
      last = exit ?? lastExit ?? last;
    }
    const isService = report.tasks !== undefined && this.#isService(report);
    const isFailure = last !== undefined && isOwnEnd(last) && (last.code !== 0 || isService);
    // Of one that was there before this monitor, only the end that it waits after is news.
    const fresh = isNews ? ended - seen.ended : ended > 0 && !isUp(report) ? 1 : 0;
    seen.ended = ended;
    if (report.state === 'rejected') this.#refusal(report, seen);
    else if (fresh > 0 && isFailure) this.#failed(report, seen, last);
    else if (fresh <= 0 && report.state === 'failed' && isNews) this.#failed(report, seen, last);
  }

  #isService({ namespace, job }: AllocationReport): boolean {
    return this.#ports.copy.jobs.get(`${namespace}/${job}`)?.value.job.type !== 'batch';
  }

  #refusal({ reason }: AllocationReport, { subject }: Seen): void {
    if (HOSTS_FAULT.test(reason)) this.#tell('start', subject, reason);
  }

  #failed(report: AllocationReport, { subject }: Seen, exit: Exit | undefined): void {
    const how = exit === undefined ? '' : exitText(exit);
    const reason = report.reason === '' ? how : report.reason;
    this.#tell(NOT_FETCHED.test(reason) ? 'fetch' : 'run', subject, reason === '' ? 'failed' : reason);
  }

  #started(seen: Seen): void {
    seen.hasStarted = true;
    this.#tell('start', seen.subject, null);
    if (seen.subject.suspects.some((suspect) => suspect.startsWith('registry/')))
      this.#tell('fetch', seen.subject, null);
  }

  /** A check that begins to fail is a failure. */
  #watchChecks(report: AllocationReport, seen: Seen, isWanted: boolean): void {
    const isFailing = Object.values(report.tasks).some(({ checks = {} }) =>
      Object.values(checks).some(({ state }) => state === 'failing'),
    );
    if (isFailing && !seen.hasFailingCheck && isWanted)
      this.#tell('run', seen.subject, notReadyOf(report) ?? 'a health check fails');
    seen.hasFailingCheck = isFailing;
  }

  #watchUp(report: AllocationReport, seen: Seen): void {
    const isUpNow = isUp(report);
    if (isUpNow === (seen.upSinceMs !== null)) return;
    if (isUpNow) {
      seen.upSinceMs = this.#ports.clock.monotonicMs();
      this.#proving.add(seen);
    } else this.#down(seen);
  }

  #down(seen: Seen): void {
    this.#proving.delete(seen);
    if (seen.isCounted) this.#detector.up(seen.subject, this.#ports.clock.monotonicMs(), -1);
    seen.isCounted = false;
    seen.upSinceMs = null;
  }

  #drop(id: string): void {
    const seen = this.#seen.get(id);
    if (seen === undefined) return;
    this.#down(seen);
    this.#seen.delete(id);
  }

  /** @param failure null: it went well */
  #tell(kind: TrialKind, subject: Subject, failure: string | null): void {
    const nowMs = this.#ports.clock.monotonicMs();
    if (failure === null) this.#detector.passed(kind, subject, nowMs);
    else this.#detector.failed(kind, subject, nowMs, failure);
  }
}

/** The artifacts of its tasks, and where they come from. */
function sourcesOf({ tasks }: Group): readonly Suspect[] {
  const found = new Set<Suspect>();
  for (const { artifacts = {}, image } of Object.values(tasks))
    for (const { sha256, source } of image === undefined
      ? Object.values(artifacts)
      : [image, ...Object.values(artifacts)]) {
      found.add(`artifact/${sha256}`);
      const origin = /^https?:\/\/[^/]+/.exec(source)?.[0];
      if (origin !== undefined) found.add(`registry/${origin}`);
    }
  return [...found];
}

/** `web.server[2]`, or `web[2]` of the group that has its job's name. */
function groupOfSlot(slot: string | undefined, job: string): string {
  const name = (slot ?? '').replace(/\[\d+\]$/, '');
  return name === job ? job : name.slice(job.length + 1);
}

function exitText({ code, signal, unhealthy, oomKills }: Exit): string {
  if (unhealthy !== undefined) return `unhealthy: ${unhealthy}`;
  if (oomKills !== undefined && oomKills > 0) return 'out of memory';
  return code === undefined ? `signal ${signal ?? ''}` : `exit code ${String(code)}`;
}
