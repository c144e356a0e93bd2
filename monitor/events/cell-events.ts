import type { Allocation, Outcome } from '../../src/core/cell/allocation.ts';
import { canonicalJson } from '../../src/core/json/canonical-json.ts';
import { windowText } from '../../src/core/host/drain-window.ts';
import type { Eligibility, Host } from '../../src/core/host/host.ts';
import { slotName } from '../../src/core/cell/ids.ts';
import type { Intent } from '../../src/core/cell/intent.ts';
import type { JobRecord } from '../../src/core/cell/job.ts';
import { LEAKS_MAX, leaksOf } from '../../src/core/host/host.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import { notReadyOf, readyOf } from '../../src/core/slots/rollout.ts';
import type { RolloutRecord } from '../../src/core/cell/rollout.ts';
import type { Owner, RoleRecord } from '../../src/core/cell/cell.ts';
import type { Pause } from '../../src/core/quota/pauses.ts';
import { goesOnText, isInForce, pausedBy, whereOf } from '../../src/core/quota/pauses.ts';
import { hostOf, revisionOf, suspectText } from '../../src/core/detector/suspects.ts';
import type { Verdict } from '../../src/core/detector/verdict.ts';
import { isVerdictOn, verdictText } from '../../src/core/detector/verdict.ts';
import type { SharedResource } from '../../src/core/quota/shared-resource.ts';
import { RecordError } from '../../src/wire/wire.ts';
import type { CellEvent } from '../../src/wire/api/monitor-api.ts';
import type { SchedulerEvent } from '../../src/wire/api/scheduler-api.ts';
import { SEEN_IN_STORE } from '../../src/wire/api/scheduler-api.ts';
import type { CellChange } from '../view/view.ts';
import type { LazyEvent } from './events.ts';
import type { Row } from '../view/record-cache.ts';

type EventBody = Omit<CellEvent, 'id' | 'atMs'>;

/**
 * The event of a change in the store; null for changes without an event (a renewal, a ledger). Events of kinds that come by
 * the thousand are built when they are read.
 * @param listedBy the monitor in whose listing it was found: a listing does not show the order within a revision, so the id
 *   is that monitor's (`monitor-2:480.1`); null: the watch showed it
 */
export function eventOfChange(
  change: CellChange,
  atMs: number,
  listedBy: string | null,
): CellEvent | LazyEvent | null {
  const place = `${String(change.revision)}.${String(change.ordinal)}`;
  const id = listedBy === null ? place : `${listedBy}:${place}`;
  switch (change.kind) {
    case 'jobs':
    case 'owners':
    case 'allocations':
    case 'outcomes':
      return { id, event: () => eventNow(change, id, atMs) };
    default:
      return eventNow(change, id, atMs);
  }
}

function eventNow(change: CellChange, id: string, atMs: number): CellEvent | null {
  try {
    const body = bodyOf(change);
    return body === null ? null : { id, atMs, ...body };
  } catch (error) {
    // A record that cannot be decoded; the copy logs it.
    if (error instanceof RecordError) return null;
    throw error;
  }
}

function bodyOf(change: CellChange): EventBody | null {
  switch (change.kind) {
    case 'jobs':
      return ofJob(change.name, change.now?.value, change.before?.value);
    case 'owners':
      return ofOwner(change.name, change.now, change.before);
    case 'allocations':
      return ofAllocation(change.now?.value, change.before?.value);
    case 'outcomes':
      return change.now === undefined || change.before !== undefined ? null : ofOutcome(change.now.value);
    case 'hosts':
      return ofHost(change.name, change.now?.value, change.before?.value);
    case 'alive':
      return ofAlive(change.name, change.now !== undefined, change.before !== undefined);
    case 'eligibility':
      return change.now === undefined
        ? null
        : ofEligibility(change.name, change.now.value, change.before?.value);
    case 'roles':
      return ofRole(change.now, change.before);
    case 'intents':
      return ofIntent(change.now?.value, change.before?.value);
    case 'rollouts':
      return ofRollout(change.name, change.now?.value);
    case 'ledgers':
    case 'versions':
    case 'runs':
    case 'meta':
    case 'pools':
    case 'openid':
    case 'remedies':
    case 'budgets':
    case 'buckets':
    case 'closedHosts':
      return null;
    case 'verdicts':
      return ofVerdict(change.now?.value, change.before?.value);
    case 'pauses':
      return ofPause(change.now?.value, change.before?.value);
    case 'shared':
      return ofShared(change.name, change.now?.value);
  }
}

/** A pause that is renewed is told again. */
function ofPause(now: Pause | undefined, before: Pause | undefined): EventBody | null {
  if (isInForce(now))
    return { kind: 'paused', source: now.by, ...aboutScope(now), detail: `${now.what}: ${pausedBy(now)}` };
  if (!isInForce(before)) return null;
  return {
    kind: 'resumed',
    source: 'api',
    ...aboutScope(before),
    detail: `${before.what}${whereOf(before)} ${goesOnText(before.what)}`,
  };
}

/** A verdict is told when it is made and when it ends, and each of its remedies when it is applied, refused or undone (S3.13). */
function ofVerdict(now: Verdict | undefined, before: Verdict | undefined): EventBody | null {
  if (now === undefined) return null;
  const about = { source: now.by, ...aboutSuspect(now.suspect) };
  if (isVerdictOn(now) && !isVerdictOn(before))
    return { kind: 'at-fault', ...about, detail: verdictText(now) };
  if (!isVerdictOn(now) && isVerdictOn(before)) {
    const why = `${now.endedWhy ?? ''}, by ${now.endedBy ?? ''}`;
    return {
      kind: 'fault-over',
      ...about,
      detail: `${suspectText(now.suspect)} is no longer at fault: ${why}`,
    };
  }
  const changed = now.remedies.find(({ remedy, state }, n) => {
    const old = before?.remedies[n];
    return old?.remedy !== remedy || old.state !== state;
  });
  if (changed === undefined) return null;
  const { remedy, state, detail } = changed;
  return { kind: `remedy-${state}`, ...about, detail: `${remedy}${detail === '' ? '' : `: ${detail}`}` };
}

function aboutSuspect(suspect: string): Pick<EventBody, 'namespace' | 'job' | 'host'> {
  const revision = revisionOf(suspect);
  if (revision !== null) return { namespace: revision.namespace, job: revision.job };
  const host = hostOf(suspect);
  return host === null ? {} : { host };
}

function aboutScope({ namespace, job, host }: Pause): Pick<EventBody, 'namespace' | 'job' | 'host'> {
  return {
    ...(namespace === undefined ? {} : { namespace }),
    ...(job === undefined ? {} : { job }),
    ...(host === undefined ? {} : { host }),
  };
}

function ofShared(name: string, now: SharedResource | undefined): EventBody {
  const of = now === undefined ? 'no more is given' : `${String(now.capacity)} ${now.unit}`.trimEnd();
  const by = now === undefined ? '' : ` ${now.by === null ? 'for the cell' : `for each ${now.by}`}`;
  return { kind: 'shared-set', source: 'api', detail: `${name}: ${of}${by}` };
}

function ofJob(name: string, now: JobRecord | undefined, before: JobRecord | undefined): EventBody | null {
  const [namespace = '', job = ''] = name.split('/');
  const body = (kind: string, detail: string): EventBody => ({ kind, source: 'api', namespace, job, detail });
  if (now === undefined) return body('job-removed', 'its record is gone');
  if (before === undefined) return body('job-submitted', `version ${String(now.version)}, ${now.job.type}`);
  if (now.version !== before.version) return body('job-updated', `version ${String(now.version)}`);
  if (now.desired !== before.desired)
    return body(now.desired === 'stop' ? 'job-stopped' : 'job-started', 'by request');
  return null;
}

function ofRollout(name: string, now: RolloutRecord | undefined): EventBody | null {
  if (now === undefined) return null;
  const [namespace = '', job = ''] = name.split('/');
  const detail = `version ${String(now.version)}${now.reason === '' ? '' : `: ${now.reason}`}`;
  return { kind: `rollout-${now.state}`, source: 'scheduler', namespace, job, detail };
}

function ofOwner(
  name: string,
  now: Row<Owner> | undefined,
  before: Row<Owner> | undefined,
): EventBody | null {
  const [namespace = '', job = ''] = name.split('/');
  const owner = (now ?? before)?.value.scheduler ?? '';
  if (now !== undefined && before !== undefined) return null;
  if (now !== undefined)
    return { kind: 'owned', source: owner, namespace, job, detail: `${owner} works on it` };
  return { kind: 'disowned', source: owner, namespace, job, detail: `${owner} no longer works on it` };
}

function aboutAllocation(allocation: Allocation | Outcome | AllocationReport, id: string) {
  const { namespace, job, host } = allocation;
  const slot = slotName(job, allocation.group, allocation.index);
  return { namespace, job, allocation: id, slot, ...(host === '' ? {} : { host }) };
}

function ofAllocation(now: Allocation | undefined, before: Allocation | undefined): EventBody | null {
  if (now === undefined) {
    if (before === undefined) return null;
    const detail = `${before.host} has its capacity back`;
    return { kind: 'released', source: before.scheduler, ...aboutAllocation(before, before.id), detail };
  }
  const about = { source: now.scheduler, ...aboutAllocation(now, now.id) };
  if (before === undefined) {
    const kind = now.intent === undefined ? 'placed' : 'reserved';
    return { kind, ...about, detail: `on ${now.host}` };
  }
  if (now.desired === before.desired) return null;
  if (now.desired === 'run')
    return { kind: 'kept', ...about, detail: 'the gang for which it was to be preempted was not placed' };
  if (now.yields !== undefined) return { kind: 'yielding', ...about, detail: now.cause ?? now.desired };
  return {
    kind: now.desired === 'evict' ? 'evicted' : 'stopping',
    ...about,
    detail: now.cause ?? now.desired,
  };
}

/** A gang larger than one transaction: its members were reserved one by one, and become effective together. */
function ofIntent(now: Intent | undefined, before: Intent | undefined): EventBody | null {
  const intent = now ?? before;
  if (intent === undefined) return null;
  const { namespace, job, group, members, scheduler } = intent;
  const body = (kind: string, detail: string): EventBody => ({
    kind,
    source: scheduler,
    namespace,
    job,
    detail,
  });
  const whom = `${String(members)} members of ${group}`;
  if (before === undefined) return body('gang-reserving', whom);
  if (now === undefined && before.state === 'open') return body('gang-placed', whom);
  return now?.state === 'void' && before.state === 'open' ? body('gang-given-up', whom) : null;
}

function ofOutcome(outcome: Outcome): EventBody {
  const about = { source: outcome.scheduler, ...aboutAllocation(outcome, outcome.allocation) };
  return { kind: 'ended', ...about, detail: `${outcome.state}: ${outcome.reason}` };
}

function ofHost(name: string, now: Host | undefined, before: Host | undefined): EventBody | null {
  if (now === undefined)
    return { kind: 'host-removed', source: 'api', host: name, detail: 'its registration is gone' };
  const about = { source: name, host: name };
  if (before === undefined) return { kind: 'host-joined', ...about, detail: `at ${now.address}` };
  if (now.bootId !== before.bootId) return { kind: 'host-rebooted', ...about, detail: 'another boot' };
  if (now.incarnation !== before.incarnation)
    return { kind: 'host-restarted', ...about, detail: `agent start ${String(now.incarnation)}` };
  return ofLeaks(about, leaksOf(now.attributes), leaksOf(before.attributes));
}

/** A host refuses new work by itself when too much leaked, and takes it again when clean (S3.13). */
function ofLeaks(about: Pick<EventBody, 'source' | 'host'>, now: number, before: number): EventBody | null {
  const isClosed = now > LEAKS_MAX;
  if (isClosed === before > LEAKS_MAX) return null;
  if (!isClosed)
    return { kind: 'host-clean', ...about, detail: 'what was left behind is gone: it takes work' };
  const detail = `${String(now)} things left behind do not go away: it takes no new work`;
  return { kind: 'host-leaking', ...about, detail };
}

function ofAlive(host: string, now: boolean, before: boolean): EventBody | null {
  if (now === before) return null;
  const detail = now ? 'its session in the store is there' : 'its session in the store ended';
  return { kind: now ? 'host-alive' : 'host-missing', source: host, host, detail };
}

function ofEligibility(host: string, eligibility: Eligibility, before?: Eligibility): EventBody {
  const labels = eligibility.labels ?? {};
  if (
    eligibility.counter === (before?.counter ?? 0) &&
    canonicalJson(labels) !== canonicalJson(before?.labels ?? {})
  ) {
    const all = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
    return { kind: 'host-labelled', source: 'api', host, detail: all.join(' ') || 'no labels' };
  }
  const planned = eligibility.counter === (before?.counter ?? 0) ? windowOf(eligibility, before) : null;
  if (planned !== null) return { host, ...planned };
  const fenced = fenceOf(eligibility, before);
  if (fenced !== null) return { host, ...fenced };
  return { kind: `host-${eligibility.state}`, source: eligibility.by, host, detail: eligibility.reason };
}

/** What a fence of a lost host has answered; null: nothing new. */
function fenceOf(now: Eligibility, before: Eligibility | undefined): Omit<EventBody, 'host'> | null {
  if (now.counter !== before?.counter) return null;
  const found = Object.entries(now.fences ?? {}).find(
    ([name, answer]) => canonicalJson(answer) !== canonicalJson(before.fences?.[name] ?? null),
  );
  if (found === undefined) return null;
  const [name, { confirmed, by, detail }] = found;
  const kind = confirmed ? 'host-fenced' : 'host-not-fenced';
  return { kind, source: by, detail: `${name}: ${detail}` };
}

/** What changed of a planned drain alone; null: nothing. */
function windowOf(now: Eligibility, before: Eligibility | undefined): Omit<EventBody, 'host'> | null {
  const { window } = now;
  if (canonicalJson(window ?? null) === canonicalJson(before?.window ?? null)) return null;
  if (window === undefined)
    return { kind: 'drain-cancelled', source: 'api', detail: 'no drain is planned any more' };
  return { kind: 'drain-planned', source: window.by, detail: windowText(window) };
}

function ofRole(now: Row<RoleRecord> | undefined, before: Row<RoleRecord> | undefined): EventBody | null {
  const role = (now ?? before)?.value;
  if (role === undefined || (now !== undefined && before !== undefined)) return null;
  const joined = now !== undefined;
  const detail = joined ? `${role.kind} at ${role.address}` : `${role.kind} left`;
  return { kind: joined ? 'role-joined' : 'role-left', source: role.id, detail };
}

/** The event of a host's report; null when neither state nor restarts nor what its health checks say has changed. The id is the same at every monitor. */
export function eventOfReport(
  report: AllocationReport,
  previous: AllocationReport | undefined,
  mark: { readonly incarnation: number; readonly seq: number },
  atMs: number,
): CellEvent | null {
  const restarted = previous !== undefined && report.restarts > previous.restarts;
  const ready = readyOf(report);
  const isSame = report.state === previous?.state && !restarted;
  if (isSame && (ready === null || ready === readyOf(previous))) return null;
  const health = ready === true ? 'passes its health checks' : `not ready: ${notReadyOf(report) ?? ''}`;
  return {
    id: `${report.host}:${String(mark.incarnation)}.${String(mark.seq)}.${report.id}`,
    atMs,
    kind: isSame ? (ready === true ? 'ready' : 'not-ready') : restarted ? 'restarted' : report.state,
    source: report.host,
    ...aboutAllocation(report, report.id),
    detail: isSame ? health : report.reason === '' ? `on ${report.host}` : report.reason,
  };
}

export function eventOfScheduler(event: SchedulerEvent): CellEvent | null {
  if (SEEN_IN_STORE.has(event.kind)) return null;
  const { life, seq, atMs, scheduler, kind, namespace, job, allocation, slot, host, detail } = event;
  const { readRevision, foundRevision } = event;
  return {
    id: `${scheduler}:${String(life)}.${String(seq)}`,
    ...{ atMs, kind, source: scheduler, namespace, job, detail },
    ...(allocation === undefined ? {} : { allocation }),
    ...(slot === undefined ? {} : { slot }),
    ...(host === undefined ? {} : { host }),
    ...(readRevision === undefined ? {} : { readRevision }),
    ...(foundRevision === undefined ? {} : { foundRevision }),
  };
}
