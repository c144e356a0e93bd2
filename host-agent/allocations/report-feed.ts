import type { AllocationReport, HostReport } from '../../src/core/host/report.ts';
import { OBSERVED_RANK } from '../../src/core/host/states.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { Broadcast } from '../../src/runtime/stream/stream.ts';

/** Messages that wait for one slow reader; then it is cut, comes again, and resumes. */
const QUEUE_MAX = 4_096;
/** Removals that a reader can resume over; one that missed more gets all anew. */
const GONE_MAX = 1_024;
/** A report that another one follows soon waits for so long: most have followed by then, and replace it. */
const HELD_MS = 100;

/** A timer that rings this much early counts as on time. */
const BEAT_SLACK_MS = 200;

interface Latest {
  readonly report: AllocationReport;
  readonly seq: number;
}

/**
 * What this host says of itself: `full` when a reader comes, then what changes. Only the newest report of each allocation
 * is kept, so resuming costs nothing: a reader gets those that changed since the number that it names.
 */
export class ReportFeed {
  readonly #host: string;
  readonly #clock: Pick<Clock, 'after' | 'monotonicMs'>;
  #incarnation: number;
  #seq = 0;
  readonly #latest = new Map<string, Latest>();
  #gone: { readonly id: string; readonly seq: number }[] = [];
  /** Removals up to this number are no longer listed in `gone`. */
  #goneFloor = 0;
  readonly #broadcast = new Broadcast<string>(QUEUE_MAX);
  /** How seldom each reader may be told that the host is there. */
  readonly #beatIntervals = new Set<{ readonly ms: number }>();
  /** Of the last beat, by the monotonic clock. */
  #beatAtMs = 0;
  /** Of the newest reports, those that readers have not been sent, in the order of their numbers. */
  readonly #held = new Set<string>();
  #cancelHeld: (() => void) | null = null;

  constructor(host: string, incarnation: number, clock: Pick<Clock, 'after' | 'monotonicMs'>) {
    this.#host = host;
    this.#incarnation = incarnation;
    this.#clock = clock;
  }

  get incarnation(): number {
    return this.#incarnation;
  }

  get seq(): number {
    return this.#seq;
  }

  get readers(): number {
    return this.#broadcast.readers;
  }

  reports(): AllocationReport[] {
    return [...this.#latest.values()].map((latest) => latest.report);
  }

  changed(report: AllocationReport): void {
    this.#seq += 1;
    this.#latest.set(report.id, { report, seq: this.#seq });
    this.#held.delete(report.id);
    this.#held.add(report.id);
    if (!isPassing(report)) this.#sendHeld();
    else this.#cancelHeld ??= this.#clock.after(HELD_MS, () => this.#sendHeld());
  }

  gone(id: string): void {
    if (!this.#latest.delete(id)) return;
    this.#held.delete(id);
    this.#sendHeld();
    this.#seq += 1;
    this.#gone.push({ id, seq: this.#seq });
    if (this.#gone.length > GONE_MAX) this.#goneFloor = this.#gone.shift()?.seq ?? this.#goneFloor;
    this.#send({ ...this.#head(this.#seq), kind: 'gone', id });
  }

  /** Sends a beat, unless no reader needs one yet. @param atMs the host's clock */
  beat(atMs: number): void {
    this.#sendHeld();
    if (this.readers === 0) return;
    const nowMs = this.#clock.monotonicMs();
    const everyMs = Math.min(...[...this.#beatIntervals].map(({ ms }) => ms));
    if (nowMs - this.#beatAtMs < everyMs - BEAT_SLACK_MS) return;
    this.#beatAtMs = nowMs;
    this.#send({ ...this.#head(this.#seq), kind: 'beat', atMs });
  }

  /** Begins anew under a larger incarnation: every reader must come again. */
  raiseIncarnation(incarnation: number): void {
    if (incarnation <= this.#incarnation) throw new Error('an incarnation only grows');
    this.#sendHeld();
    this.#incarnation = incarnation;
    this.#broadcast.close();
  }

  /**
   * Lines of NDJSON, beginning with what the reader lacks.
   * @param from where it stands; null: nowhere
   * @param signal aborted when the reader is gone
   * @param beatMs it needs no beat within this time of the last one
   */
  read(
    from: { readonly incarnation: number; readonly seq: number } | null,
    signal: AbortSignal,
    beatMs = 0,
  ): AsyncIterable<string> {
    this.#sendHeld();
    const interval = { ms: beatMs };
    this.#beatIntervals.add(interval);
    // Readers of many hosts come at different times, and so do the beats to them.
    if (this.readers === 0) this.#beatAtMs = this.#clock.monotonicMs();
    const lines = this.#missing(from).map(lineOf);
    return this.#broadcast.subscribe(signal, lines, null, () => this.#beatIntervals.delete(interval));
  }

  close(): void {
    this.#sendHeld();
    this.#broadcast.close();
  }

  #missing(from: { readonly incarnation: number; readonly seq: number } | null): HostReport[] {
    const known = from !== null && from.incarnation === this.#incarnation && from.seq <= this.#seq;
    if (!known || from.seq < this.#goneFloor)
      return [{ ...this.#head(this.#seq), kind: 'full', allocations: this.reports() }];
    const messages: HostReport[] = [];
    for (const { report, seq } of this.#latest.values())
      if (seq > from.seq) messages.push({ ...this.#head(seq), kind: 'change', allocation: report });
    for (const { id, seq } of this.#gone)
      if (seq > from.seq) messages.push({ ...this.#head(seq), kind: 'gone', id });
    messages.sort((a, b) => a.seq - b.seq);
    // Says at once that the reader is up to date.
    messages.push({ ...this.#head(this.#seq), kind: 'beat' });
    return messages;
  }

  #head(seq: number): { host: string; incarnation: number; seq: number } {
    return { host: this.#host, incarnation: this.#incarnation, seq };
  }

  /** In the order of their numbers, before anything that has a later one. */
  #sendHeld(): void {
    this.#cancelHeld?.();
    this.#cancelHeld = null;
    for (const id of this.#held) {
      const latest = this.#latest.get(id);
      if (latest === undefined) continue;
      this.#send({ ...this.#head(latest.seq), kind: 'change', allocation: latest.report });
    }
    this.#held.clear();
  }

  #send(report: HostReport): void {
    if (this.readers > 0) this.#broadcast.send(lineOf(report));
  }
}

/**
 * On the way to running, and from a stop to the release: whoever ordered that has had the first report of it in the answer. The end
 * of what nobody stopped is waited for.
 */
function isPassing({ state, released }: AllocationReport): boolean {
  if (OBSERVED_RANK[state] < OBSERVED_RANK.running) return true;
  return state === 'stopping' || (state === 'killed' && !released);
}

function lineOf(report: HostReport): string {
  return `${JSON.stringify(report)}\n`;
}
