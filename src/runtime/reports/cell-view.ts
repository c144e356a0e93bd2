import { jobKeyOf } from '../../core/cell/ids.ts';
import type { Mark, MergeSink } from '../../core/host/merge.ts';
import { HostView } from '../../core/host/merge.ts';
import type { AllocationReport, HostReport } from '../../core/host/report.ts';

/** How far, and how recently, a host has reported. */
export interface HostFreshness {
  readonly host: string;
  /** −1 before the host's first report. */
  readonly incarnation: number;
  readonly seq: number;
  /** Wall-clock time of the host's last message; null: none yet. */
  readonly asOfMs: number | null;
  /** Since when the host is silent; null while it is reporting. A silent host keeps its last known allocations. */
  readonly staleSinceMs: number | null;
  readonly allocations: number;
}

/** The cell as the hosts report it: eventually consistent, never going back, with its age. For reading. */
export interface CellView {
  /** The report of the allocation by this very host. */
  get(host: string, id: string): AllocationReport | undefined;
  /** The report of the allocation, on whichever host it is. */
  allocation(id: string): AllocationReport | undefined;
  /** Every allocation of the job that any host reports, by `<namespace>/<job>`. */
  ofJob(jobKey: string): Iterable<AllocationReport>;
  on(host: string): Iterable<AllocationReport>;
  host(host: string): HostFreshness | undefined;
  hosts(): IterableIterator<HostFreshness>;
  /** How many allocations are known, of those that are kept. */
  readonly size: number;
  /** Every known host has reported or timed out; false until the first list of hosts is there. */
  readonly complete: boolean;
}

/** `reporting`: first message, or the end of a silence. `restarted`: a newer incarnation. `left`: no longer registered. */
export type HostChange = 'reporting' | 'restarted' | 'silent' | 'left';

/** Called in the order in which changes became known. Must not throw. */
export interface ReportHandlers {
  /** Is the report to be kept in the view? Called for each report. Absent: all are kept. */
  keeps?(report: AllocationReport): boolean;
  /** Is the host declared lost? A monitor may never learn more of it. Absent: no host is. */
  isLost?(host: string): boolean;
  onReport?(report: AllocationReport, previous: AllocationReport | undefined): void;
  /** The host forgot the record (removed after its outcome was durable). `previous` is its last report. */
  onGone?(previous: AllocationReport): void;
  onHost?(freshness: HostFreshness, what: HostChange): void;
  /** A message that changed the view was merged: for relays. */
  onMessage?(message: HostReport): void;
  onComplete?(complete: boolean): void;
  /**
   * The host said this to this process itself, and it is merged: for what is relayed to other monitors.
   * @param begins the host was not followed directly before, or its stream was cut: readers need all that is known of it
   */
  onDirect?(message: HostReport, begins: boolean): void;
  /** The host has said nothing directly for so long: it is silent, or followed through another monitor from now on. */
  onDirectEnd?(host: string, silentMs: number): void;
}

/** One moment on both clocks. */
export interface Instant {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

export interface HostEntry {
  readonly view: HostView;
  /** Since when its reports are awaited. */
  readonly knownAt: Instant;
  heardAt: Instant | null;
  /** It has a stream of its own, on which it has said something. */
  isOpen: boolean;
  /** When the last such stream ended, by the monotonic clock. */
  cutAtMs: number;
  /** Since when it is followed directly, by the monotonic clock: its stream is given the time to be opened. */
  followedAtMs: number;
  /** When a silence began; null while the host is reporting. */
  silentSince: Instant | null;
}

/** The hosts' merged views with an index by allocation and by job. Time comes from `MergedView`. */
export class ViewIndex {
  readonly #hosts = new Map<string, HostEntry>();
  readonly #byAllocation = new Map<string, AllocationReport>();
  readonly #byJob = new Map<string, Map<string, AllocationReport>>();
  readonly #sink: MergeSink;

  constructor(sink: MergeSink) {
    this.#sink = {
      keeps: (report) => sink.keeps?.(report) ?? true,
      onSet: (report, previous) => {
        this.#index(report);
        sink.onSet(report, previous);
      },
      onGone: (previous) => {
        this.#unindex(previous);
        sink.onGone(previous);
      },
    };
  }

  get size(): number {
    return this.#byAllocation.size;
  }

  get(host: string): HostEntry | undefined {
    return this.#hosts.get(host);
  }

  entries(): IterableIterator<HostEntry> {
    return this.#hosts.values();
  }

  allocation(id: string): AllocationReport | undefined {
    return this.#byAllocation.get(id);
  }

  ofJob(jobKey: string): Iterable<AllocationReport> {
    return this.#byJob.get(jobKey)?.values() ?? [];
  }

  expect(host: string, now: Instant): HostEntry {
    let entry = this.#hosts.get(host);
    if (entry === undefined) {
      entry = {
        ...{ view: new HostView(host), knownAt: now, heardAt: null },
        ...{ isOpen: false, cutAtMs: 0, followedAtMs: 0, silentSince: null },
      };
      this.#hosts.set(host, entry);
    }
    return entry;
  }

  /** @returns whether the message changed the view */
  apply(message: HostReport, now: Instant): boolean {
    return this.expect(message.host, now).view.apply(message, this.#sink);
  }

  addPart(host: string, reports: readonly AllocationReport[], mark: Mark, now: Instant): void {
    this.expect(host, now).view.learn(reports, mark, this.#sink);
  }

  /** What hosts report of the job is no longer worth its memory. */
  drop(jobKey: string): void {
    for (const { host, id } of [...this.ofJob(jobKey)]) this.#hosts.get(host)?.view.drop(id, this.#sink);
  }

  /** The host's registration is gone: so is all that was known of it. */
  forget(host: string): void {
    const entry = this.#hosts.get(host);
    if (entry === undefined) return;
    this.#hosts.delete(host);
    for (const report of [...entry.view.reports()]) this.#sink.onGone(report);
  }

  #index(report: AllocationReport): void {
    this.#byAllocation.set(report.id, report);
    const key = jobKeyOf(report.namespace, report.job);
    let ofJob = this.#byJob.get(key);
    if (ofJob === undefined) this.#byJob.set(key, (ofJob = new Map<string, AllocationReport>()));
    ofJob.set(report.id, report);
  }

  /** Only a report of the same host takes it out of the index. */
  #unindex({ id, host, namespace, job }: AllocationReport): void {
    if (this.#byAllocation.get(id)?.host !== host) return;
    this.#byAllocation.delete(id);
    const key = jobKeyOf(namespace, job);
    const ofJob = this.#byJob.get(key);
    ofJob?.delete(id);
    if (ofJob?.size === 0) this.#byJob.delete(key);
  }
}

/** Has the host reported, and not gone silent since? Its first message is a full report, so the view then has all of it. */
export function isReporting(view: CellView, host: string): boolean {
  const freshness = view.host(host);
  return freshness !== undefined && freshness.asOfMs !== null && freshness.staleSinceMs === null;
}
