import type { AllocationReport, HostReport } from './report.ts';

/** The position of a message among all messages of its host: compared by incarnation, then by sequence. */
export interface Mark {
  readonly incarnation: number;
  readonly seq: number;
}

/** Before every message. */
export const NO_MARK: Mark = Object.freeze({ incarnation: -1, seq: -1 });

export function isAfter(a: Mark, b: Mark): boolean {
  return a.incarnation === b.incarnation ? a.seq > b.seq : a.incarnation > b.incarnation;
}

/** Receives each allocation whose report a merge changed. */
export interface MergeSink {
  /** Should the report be stored? One that is not counts as if the host had none. Absent: all are stored. */
  keeps?(report: AllocationReport): boolean;
  onSet(report: AllocationReport, previous: AllocationReport | undefined): void;
  onGone(previous: AllocationReport): void;
}

/**
 * Tombstones of deleted records, for messages out of order. A stream in order settles them at once; the bound is for a
 * source that never settles: past it the view settles by itself.
 */
export const TOMBSTONES_MAX = 4_096;

interface Seen {
  readonly report: AllocationReport;
  readonly mark: Mark;
}

/**
 * The view of one host, merged from its messages: the newest `full`, and every newer message. The larger mark wins,
 * allocation by allocation, so the result depends neither on the order of the messages nor on repeats (I49), and never
 * goes back (I50). A newer incarnation replaces the view with its own `full`, not before.
 */
export class HostView {
  readonly host: string;
  /** Null until a report is stored: of most hosts of a large cell most readers store nothing. */
  #seen: Map<string, Seen> | null = null;
  #gone: Map<string, Mark> | null = null;
  #settled: Mark = NO_MARK;
  #newest: Mark = NO_MARK;

  constructor(host: string) {
    this.host = host;
  }

  /** The largest mark seen. */
  get mark(): Mark {
    return this.#newest;
  }

  /** The view is complete up to this mark; `NO_MARK` before the first `full`. */
  get settled(): Mark {
    return this.#settled;
  }

  get size(): number {
    return this.#seen?.size ?? 0;
  }

  get(id: string): AllocationReport | undefined {
    return this.#seen?.get(id)?.report;
  }

  *reports(): IterableIterator<AllocationReport> {
    for (const seen of this.#seen?.values() ?? []) yield seen.report;
  }

  /**
   * Merges one message of this host.
   * @returns false: the message is older than what is known
   */
  apply(message: HostReport, sink: MergeSink): boolean {
    const mark: Mark = { incarnation: message.incarnation, seq: message.seq };
    const newest = isAfter(mark, this.#newest);
    if (newest) this.#newest = mark;
    switch (message.kind) {
      case 'beat':
        return newest;
      case 'full':
        return this.#replace(message.allocations, mark, sink);
      case 'change':
        return this.#set(message.allocation, mark, sink);
      case 'gone':
        return this.#forget(message.id, mark, sink);
    }
  }

  /**
   * Adds reports as of the mark that `MergeSink.keeps` refused at the time. The caller vouches that the host has deleted
   * none of these records since.
   */
  learn(reports: readonly AllocationReport[], mark: Mark, sink: MergeSink): void {
    for (const report of reports) {
      const known = this.#seen?.get(report.id);
      const isNews = known === undefined || isAfter(mark, known.mark);
      if (isNews && sink.keeps?.(report) !== false) this.#put({ report, mark }, known, sink);
    }
  }

  /** Removes the report of an allocation that need not be stored any more. */
  drop(id: string, sink: MergeSink): void {
    this.#take(id, this.#seen?.get(id), sink);
  }

  /** The caller vouches that every message up to the mark was applied: they came on one stream, in order, without a gap. */
  settle(mark: Mark): void {
    if (!isAfter(mark, this.#settled)) return;
    this.#settled = { incarnation: mark.incarnation, seq: mark.seq };
    if (!isAfter(this.#newest, mark)) this.#gone = null;
    for (const [id, gone] of this.#gone ?? []) if (!isAfter(gone, mark)) this.#gone?.delete(id);
  }

  /** Messages that turn an empty view into this one, for a relay to another monitor. */
  messages(): HostReport[] {
    const head = { host: this.host };
    const settled: AllocationReport[] = [];
    const later: HostReport[] = [];
    for (const { report, mark } of this.#seen?.values() ?? []) {
      if (isAfter(mark, this.#settled)) later.push({ ...head, ...mark, kind: 'change', allocation: report });
      else settled.push(report);
    }
    for (const [id, mark] of this.#gone ?? []) later.push({ ...head, ...mark, kind: 'gone', id });
    if (this.#settled !== NO_MARK)
      later.unshift({ ...head, ...this.#settled, kind: 'full', allocations: settled });
    if (this.#newest !== NO_MARK) later.push({ ...head, ...this.#newest, kind: 'beat' });
    return later;
  }

  #replace(reports: readonly AllocationReport[], mark: Mark, sink: MergeSink): boolean {
    if (!isAfter(mark, this.#settled)) return false;
    const listed = new Set<string>();
    this.#settled = mark;
    for (const report of reports) {
      if (sink.keeps?.(report) === false) continue;
      listed.add(report.id);
      const known = this.#seen?.get(report.id);
      if (known !== undefined && isAfter(known.mark, mark)) continue;
      const gone = this.#gone?.get(report.id);
      if (gone !== undefined && isAfter(gone, mark)) continue;
      this.#put({ report, mark }, known, sink);
    }
    for (const [id, known] of this.#seen ?? [])
      if (!listed.has(id) && !isAfter(known.mark, mark)) this.#take(id, known, sink);
    for (const [id, gone] of this.#gone ?? []) if (!isAfter(gone, mark)) this.#gone?.delete(id);
    return true;
  }

  #set(report: AllocationReport, mark: Mark, sink: MergeSink): boolean {
    const known = this.#seen?.get(report.id);
    if (!this.#isNews(report.id, known, mark)) return false;
    this.#gone?.delete(report.id);
    if (sink.keeps?.(report) === false) {
      // An older stored report would pass for the newest one when the allocation is wanted again.
      this.#take(report.id, known, sink);
      return true;
    }
    this.#seen ??= new Map();
    this.#seen.set(report.id, { report, mark });
    sink.onSet(report, known?.report);
    return true;
  }

  #forget(id: string, mark: Mark, sink: MergeSink): boolean {
    const known = this.#seen?.get(id);
    if (!this.#isNews(id, known, mark)) return false;
    this.#gone ??= new Map();
    this.#gone.set(id, mark);
    if (this.#gone.size > TOMBSTONES_MAX) this.settle(this.#newest);
    this.#take(id, known, sink);
    return true;
  }

  #isNews(id: string, known: Seen | undefined, mark: Mark): boolean {
    const last = known?.mark ?? this.#gone?.get(id) ?? NO_MARK;
    return isAfter(mark, this.#settled) && isAfter(mark, last);
  }

  #put(seen: Seen, known: Seen | undefined, sink: MergeSink): void {
    const { report } = seen;
    this.#seen ??= new Map();
    this.#seen.set(report.id, seen);
    // A `full` repeats what did not change.
    if (known === undefined || JSON.stringify(known.report) !== JSON.stringify(report))
      sink.onSet(report, known?.report);
  }

  #take(id: string, known: Seen | undefined, sink: MergeSink): void {
    if (known === undefined) return;
    this.#seen?.delete(id);
    sink.onGone(known.report);
  }
}
