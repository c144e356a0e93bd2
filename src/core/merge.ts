import type { AllocationReport, HostReport } from './report.ts';

/** Where a message stands among all that its host ever says: compared by incarnation, then by sequence. */
export interface Mark {
  readonly incarnation: number;
  readonly seq: number;
}

/** Before anything that a host can say. */
export const NO_MARK: Mark = Object.freeze({ incarnation: -1, seq: -1 });

export function isAfter(a: Mark, b: Mark): boolean {
  return a.incarnation === b.incarnation ? a.seq > b.seq : a.incarnation > b.incarnation;
}

/** Told of each allocation whose observed half changed by a merge. */
export interface MergeSink {
  onSet(report: AllocationReport, previous: AllocationReport | undefined): void;
  onGone(previous: AllocationReport): void;
}

/**
 * Records of allocations that a host forgot, kept only for messages that came out of order; a stream in order settles
 * them at once. The bound holds for a source that never settles; past it the oldest knowledge is given up for settled.
 */
export const TOMBSTONES_MAX = 4_096;

interface Seen {
  readonly report: AllocationReport;
  readonly mark: Mark;
}

/**
 * What is known of one host, merged from its messages. The larger mark wins, allocation by allocation, so the result does
 * not depend on the order of the messages, nor on repeats (I49), and never goes back (I50): it is the newest `full`,
 * with everything that is newer laid over it.
 *
 * A message of a newer incarnation does not empty the view; only that incarnation's own `full` replaces it.
 */
export class HostView {
  readonly host: string;
  readonly #seen = new Map<string, Seen>();
  readonly #gone = new Map<string, Mark>();
  #settled: Mark = NO_MARK;
  #newest: Mark = NO_MARK;

  constructor(host: string) {
    this.host = host;
  }

  /** The largest mark seen. */
  get mark(): Mark {
    return this.#newest;
  }

  /** Everything up to this mark is in the view; `NO_MARK` before the first `full`. */
  get settled(): Mark {
    return this.#settled;
  }

  get size(): number {
    return this.#seen.size;
  }

  get(id: string): AllocationReport | undefined {
    return this.#seen.get(id)?.report;
  }

  *reports(): IterableIterator<AllocationReport> {
    for (const seen of this.#seen.values()) yield seen.report;
  }

  /**
   * Merges one message of this host.
   * @returns whether it was news: false for a message that is older than what is known already
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
   * The caller vouches that every message up to the largest mark seen was applied: they came by one stream, in order,
   * after a `full` or from where the view stood.
   */
  settle(): void {
    if (!isAfter(this.#newest, this.#settled)) return;
    this.#settled = this.#newest;
    this.#gone.clear();
  }

  /** Messages that bring an empty view to this one: how a monitor hands a host on. Empty before anything was heard. */
  messages(): HostReport[] {
    const head = { host: this.host };
    const settled: AllocationReport[] = [];
    const later: HostReport[] = [];
    for (const { report, mark } of this.#seen.values()) {
      if (isAfter(mark, this.#settled)) later.push({ ...head, ...mark, kind: 'change', allocation: report });
      else settled.push(report);
    }
    for (const [id, mark] of this.#gone) later.push({ ...head, ...mark, kind: 'gone', id });
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
      listed.add(report.id);
      const known = this.#seen.get(report.id);
      if (known !== undefined && isAfter(known.mark, mark)) continue;
      const gone = this.#gone.get(report.id);
      if (gone !== undefined && isAfter(gone, mark)) continue;
      this.#seen.set(report.id, { report, mark });
      // A `full` repeats what did not change; nobody needs to hear of that.
      if (known === undefined || JSON.stringify(known.report) !== JSON.stringify(report))
        sink.onSet(report, known?.report);
    }
    for (const [id, known] of this.#seen) {
      if (listed.has(id) || isAfter(known.mark, mark)) continue;
      this.#seen.delete(id);
      sink.onGone(known.report);
    }
    for (const [id, gone] of this.#gone) if (!isAfter(gone, mark)) this.#gone.delete(id);
    return true;
  }

  #set(report: AllocationReport, mark: Mark, sink: MergeSink): boolean {
    const known = this.#seen.get(report.id);
    const last = known?.mark ?? this.#gone.get(report.id) ?? NO_MARK;
    if (!isAfter(mark, this.#settled) || !isAfter(mark, last)) return false;
    this.#gone.delete(report.id);
    this.#seen.set(report.id, { report, mark });
    sink.onSet(report, known?.report);
    return true;
  }

  #forget(id: string, mark: Mark, sink: MergeSink): boolean {
    const known = this.#seen.get(id);
    const last = known?.mark ?? this.#gone.get(id) ?? NO_MARK;
    if (!isAfter(mark, this.#settled) || !isAfter(mark, last)) return false;
    this.#seen.delete(id);
    this.#gone.set(id, mark);
    if (this.#gone.size > TOMBSTONES_MAX) this.settle();
    if (known !== undefined) sink.onGone(known.report);
    return true;
  }
}
