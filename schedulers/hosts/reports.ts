import { jobKeyOf } from '../../src/core/cell/ids.ts';
import type { AllocationReport } from '../../src/core/host/report.ts';
import type { RoleRecord } from '../../src/core/cell/cell.ts';
import type { CellView } from '../../src/runtime/reports/cell-view.ts';
import type { ReportSource } from '../../src/runtime/reports/stream-reader.ts';
import { sleep } from '../../src/runtime/wait/wait.ts';
import { ReportFollower } from '../../src/runtime/reports/reports.ts';
import { Table } from '../../src/runtime/records/records.ts';
import { roleCodec } from '../../src/wire/records/records.ts';
import type { SchedulerWorld } from '../state/state.ts';

/** Without a monitor: how soon a host that got its first allocation is followed. */
const REFRESH_DELAY_MS = 100;
/** How often it is looked at whether a monitor that is not registered any more still sends reports. */
const STILL_SENDS_MS = 1_000;
/** How often the view is checked for completeness, after a restore. */
const COMPLETE_POLL_MS = 200;

/**
 * What hosts report of the owned jobs' allocations: through one monitor's merged stream while there is a monitor, or one still
 * sends; otherwise from the hosts themselves (S4.6).
 *
 * The stream carries all allocations of the cell. Reports of other jobs are not kept (a million take 720 MB), only the place
 * in each host's stream and its silence. When a job becomes this scheduler's, its reports are asked for (`learn`). See
 * `docs/decisions/monitors-copies.md`.
 */
export class Reports {
  readonly ready: Promise<void>;
  readonly #world: SchedulerWorld;
  readonly #monitors: Table<RoleRecord>;
  readonly #merged: ReportFollower;
  readonly #direct: ReportFollower;
  readonly #hosts: () => readonly ReportSource[];
  /** Owned jobs of which the view may lack reports: asked for again at each `refresh`. */
  readonly #lacking = new Set<string>();
  #started = false;
  #isDirect = false;
  #cancelRefresh: (() => void) | null = null;
  #cancelLook: (() => void) | null = null;

  constructor(
    world: SchedulerWorld,
    parts: {
      readonly hosts: () => readonly ReportSource[];
      readonly isOwned: (jobKey: string) => boolean;
      /** Was the host declared lost, or is it not registered? */
      readonly isLost: (host: string) => boolean;
      readonly onReport: (report: AllocationReport) => void;
    },
  ) {
    this.#world = world;
    this.#hosts = parts.hosts;
    const { http, clock, random, log } = world;
    const handlers = { onReport: parts.onReport };
    this.#monitors = new Table<RoleRecord>(world.store, `${world.keys.roles}monitor/`, roleCodec, {
      onBadRecord: (error, key) => log.error({ key, error }, 'unreadable record'),
      onChange: () => this.refresh(),
    });
    this.ready = this.#monitors.ready;
    const common = { http, clock, random, log };
    this.#merged = new ReportFollower({
      ...common,
      handlers: {
        ...handlers,
        keeps: ({ namespace, job }) => parts.isOwned(jobKeyOf(namespace, job)),
        isLost: parts.isLost,
      },
      sources: () => this.#monitorSources(),
      options: { mode: 'any-one' },
    });
    this.#direct = new ReportFollower({
      ...{ ...common, handlers },
      sources: () => (this.#isDirect ? this.#hosts() : []),
      options: { mode: 'all' },
    });
  }

  start(): void {
    this.#started = true;
    this.refresh();
  }

  /** The hosts with allocations of owned jobs may have changed, which matters only while there is no monitor. */
  hostsChanged(): void {
    if (this.#started && this.#isDirect) this.#refreshDirect();
  }

  /** The monitors, or the hosts with allocations of owned jobs, may have changed. */
  refresh(): void {
    if (!this.#started) return;
    const isDirect = this.#monitors.size === 0 && !this.#stillSends();
    const wasDirect = this.#isDirect;
    this.#isDirect = isDirect;
    if (!isDirect) this.#merged.refresh();
    if (isDirect || wasDirect) this.#refreshDirect();
    if (!isDirect) for (const jobKey of [...this.#lacking]) void this.learn(jobKey);
  }

  /**
   * Brings into the view what hosts report of a job that this scheduler owns from now on.
   * @returns false: that may not be all, and is asked for again, as it is while there is no monitor
   */
  async learn(jobKey: string): Promise<boolean> {
    this.#lacking.add(jobKey);
    if (this.#isDirect) return false;
    const isAll = await this.#merged.fetchJob(jobKey);
    if (isAll) this.#lacking.delete(jobKey);
    return isAll;
  }

  drop(jobKey: string): void {
    this.#lacking.delete(jobKey);
    this.#merged.drop(jobKey);
  }

  get(host: string, id: string): AllocationReport | undefined {
    return this.#view.get(host, id);
  }

  /** The last reports of the job's allocations, of the hosts that are followed. */
  ofJob(jobKey: string): Iterable<AllocationReport> {
    return this.#view.ofJob(jobKey);
  }

  /** Resolves when a monitor has the reports of every host that it knows, or has timed out on it. */
  async complete(signal: AbortSignal): Promise<void> {
    while (!this.#merged.view.complete && !signal.aborted)
      await sleep(this.#world.clock, COMPLETE_POLL_MS, signal);
  }

  /** Does the host report now, so that an allocation missing in its reports is worth a question? */
  isReporting(host: string): boolean {
    const seen = this.#view.host(host);
    return seen !== undefined && seen.asOfMs !== null && seen.staleSinceMs === null;
  }

  async close(): Promise<void> {
    this.#started = false;
    this.#cancelRefresh?.();
    this.#cancelLook?.();
    this.#monitors.close();
    await Promise.all([this.#merged.close(), this.#direct.close()]);
  }

  get #view(): CellView {
    return this.#isDirect ? this.#direct.view : this.#merged.view;
  }

  /**
   * A monitor that is too busy to renew its session is without it for a moment, and its stream goes on. To follow thousands of
   * hosts instead would take what it lacks: a connection to each of them, from each scheduler.
   */
  #stillSends(): boolean {
    if (this.#merged.source === null) return false;
    this.#cancelLook ??= this.#world.clock.after(STILL_SENDS_MS, () => {
      this.#cancelLook = null;
      this.refresh();
    });
    return true;
  }

  /** At most ten times a second: it walks over all owned allocations. */
  #refreshDirect(): void {
    this.#cancelRefresh ??= this.#world.clock.after(REFRESH_DELAY_MS, () => {
      this.#cancelRefresh = null;
      this.#direct.refresh();
    });
  }

  #monitorSources(): readonly ReportSource[] {
    return [...this.#monitors.rows()].map(([name, { value }]) => ({ name, url: value.address }));
  }
}
