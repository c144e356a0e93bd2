/**
 * What somebody should look at though nothing failed outright: `moorage alarms`, events and a metric.
 *
 * - `alarms.ts`: looks at the cell again and again, and tells what begins and ends
 * - `held-conditions.ts`: since when each condition holds, and when it is an alarm
 * - `job-conditions.ts`: jobs that wait, do not end, or loop; `host-clocks.ts`: hosts whose clock is wrong
 *
 * Each monitor finds alarms by itself, from its own copy of the cell: they are no records, and begin anew with it.
 */
import { PeriodicTask } from '../../src/runtime/wait/periodic-task.ts';
import { TimeSlice } from '../../src/runtime/wait/time-slice.ts';
import type { Alarm, AlarmsAnswer } from '../../src/wire/api/cell-api.ts';
import { ALARM_KINDS } from '../../src/wire/api/cell-api.ts';
import type { CellEvent } from '../../src/wire/api/monitor-api.ts';
import { mebibytes, percent } from '../../src/wire/values/words.ts';
import type { MonitorContext } from '../context.ts';
import type { JobStatuses } from '../jobs/jobs.ts';
import type { StoreKeeper } from '../store/store.ts';
import type { Condition } from './held-conditions.ts';
import { HeldConditions, nameOf } from './held-conditions.ts';
import type { HostClocks } from './host-clocks.ts';
import { conditionsOfJob } from './job-conditions.ts';

/** How long a job may wait, stop or loop before it is an alarm. */
export const ALARM_AFTER_MS = 10 * 60_000;
const CHECK_MS = 10_000;
/** Jobs that are looked at in one turn of the event loop at most: a large one that has to be summed up takes a whole turn. */
const SLICE_JOBS = 64;
/** A check that has begun is done whole: what it has not seen would pass for over. */
const NEVER = new AbortController().signal;
/** Share of the quota from which on the store is an alarm. */
const STORE_FRACTION = 0.7;
/** Alarms whose reason is asked for in one check: those of which it was asked longest ago. */
const REASONS_MAX = 16;

export interface AlarmDeps extends MonitorContext {
  readonly statuses: JobStatuses;
  readonly clocks: HostClocks;
  /** null: this monitor does not maintain the store. */
  readonly keeper: () => Pick<StoreKeeper, 'size' | 'quotaBytes'> | null;
  /** Why the job is as it is, for people; null: nobody knows. */
  readonly reasonOf: (jobKey: string) => Promise<string | null>;
  readonly onEvent: (event: CellEvent) => void;
  readonly afterMs: number;
}

export class AlarmWatch {
  readonly #deps: AlarmDeps;
  readonly #conditions = new HeldConditions();
  readonly #checks: PeriodicTask;
  /** Jobs with alarms, the one of which the reason was asked longest ago first. */
  readonly #asked = new Set<string>();
  #events = 0;

  constructor(deps: AlarmDeps) {
    this.#deps = deps;
    this.#checks = new PeriodicTask(deps.clock, CHECK_MS, () => this.check());
  }

  close(): Promise<void> {
    return this.#checks.close();
  }

  standing(): AlarmsAnswer {
    return { alarms: this.#conditions.standing(), afterMs: this.#deps.afterMs };
  }

  /** Never rejects. */
  async check(): Promise<void> {
    const { clock } = this.#deps;
    const now = { wallMs: clock.nowMs(), monotonicMs: clock.monotonicMs() };
    const { begun, over } = this.#conditions.update(await this.#found(now.wallMs), now);
    await this.#explain();
    const standing = this.#conditions.standing();
    const began = new Set(begun.map(nameOf));
    // As they stand now: with their reasons.
    for (const alarm of standing) if (began.has(nameOf(alarm))) this.#tell('alarm', alarm);
    for (const alarm of over) this.#tell('alarm-over', alarm);
    this.#count(standing);
  }

  async #found(nowMs: number): Promise<readonly Condition[]> {
    const { clock, copy, statuses, clocks, afterMs } = this.#deps;
    const found: Condition[] = [];
    const slice = new TimeSlice(clock, NEVER, SLICE_JOBS);
    for (const jobKey of copy.jobs.names()) {
      if (slice.step()) await slice.yield();
      const summary = statuses.isQuiet(jobKey) ? null : statuses.summary(jobKey);
      if (summary !== null) found.push(...conditionsOfJob(summary, nowMs, afterMs));
    }
    const store = storeCondition(this.#deps.keeper());
    const records = Array.from(copy.unreadable(), recordCondition);
    return [...found, ...clocks.conditions(), ...(store === null ? [] : [store]), ...records];
  }

  /** Asks for the reasons of some alarms about jobs; the next check goes on with others. */
  async #explain(): Promise<void> {
    const about = new Map<string, Alarm[]>();
    for (const alarm of this.#conditions.standing())
      if (isOfJob(alarm)) about.set(alarm.subject, [...(about.get(alarm.subject) ?? []), alarm]);
    for (const jobKey of this.#asked) if (!about.has(jobKey)) this.#asked.delete(jobKey);
    const fresh = [...about.keys()].filter((jobKey) => !this.#asked.has(jobKey));
    const next = [...fresh, ...this.#asked].slice(0, REASONS_MAX);
    await Promise.all(
      next.map(async (jobKey) => {
        this.#asked.delete(jobKey);
        this.#asked.add(jobKey);
        const reason = await this.#deps.reasonOf(jobKey);
        if (reason !== null)
          for (const alarm of about.get(jobKey) ?? []) this.#conditions.explain(alarm, reason);
      }),
    );
  }

  #tell(what: 'alarm' | 'alarm-over', alarm: Alarm): void {
    const { self, clock, log, onEvent } = this.#deps;
    const { kind, subject, detail } = alarm;
    this.#events += 1;
    const [namespace = '', job = ''] = subject.split('/');
    onEvent({
      id: `${self}:alarm-${String(this.#events)}`,
      atMs: clock.nowMs(),
      kind: what,
      source: self,
      ...(isOfJob(alarm) ? { namespace, job } : kind === 'clock' ? { host: subject } : {}),
      detail: `${kind}: ${detail}`,
    });
    if (what === 'alarm') log.warn({ alarm: kind, subject }, detail);
  }

  #count(standing: readonly Alarm[]): void {
    for (const kind of ALARM_KINDS)
      this.#deps.metrics.gauge(
        'moorage_monitor_alarms',
        standing.filter((alarm) => alarm.kind === kind).length,
        { kind },
      );
  }
}

export function isOfJob({ kind }: Pick<Alarm, 'kind'>): boolean {
  return kind === 'waiting' || kind === 'stopping' || kind === 'looping';
}

function storeCondition(keeper: ReturnType<AlarmDeps['keeper']>): Condition | null {
  const size = keeper?.size ?? null;
  if (keeper === null || size === null) return null;
  const { quotaBytes } = keeper;
  if (!size.isFull && size.inUseBytes < quotaBytes * STORE_FRACTION) return null;
  const detail = size.isFull
    ? 'it is full, and refuses writes'
    : `${mebibytes(size.inUseBytes)} of ${mebibytes(quotaBytes)} ${percent(size.inUseBytes, quotaBytes)} are in use`;
  return { kind: 'store', subject: 'etcd', detail, afterMs: 0 };
}

/** Roles leave such a record out, as if its last version had not been written. */
function recordCondition([subject, why]: readonly [key: string, why: string]): Condition {
  const detail = `cannot be read, and its last change is left out by all roles: ${why}`;
  return { kind: 'record', subject, detail, afterMs: 0 };
}
