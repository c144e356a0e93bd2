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
  readonly json: string;
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

  /** @param json of the report */
  changed(report: AllocationReport, json = JSON.stringify(report)): void {
    this.#seq += 1;
    this.#latest.set(report.id, { report, json, seq: this.#seq });
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
    this.#send(this.#goneLine(this.#seq, id));
  }

  /** Sends a beat, unless no reader needs one yet. @param atMs the host's clock */
  beat(atMs: number): void {
    this.#sendHeld();
    if (this.readers === 0) return;
    const nowMs = this.#clock.monotonicMs();
    const everyMs = Math.min(...[...this.#beatIntervals].map(({ ms }) => ms));
    if (nowMs - this.#beatAtMs < everyMs - BEAT_SLACK_MS) return;
    this.#beatAtMs = nowMs;
    this.#send(this.#line(this.#seq, 'beat', { atMs }));
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
    const lines = this.#missing(from);
    return this.#broadcast.subscribe(signal, lines, null, () => this.#beatIntervals.delete(interval));
  }

  close(): void {
    this.#sendHeld();
    this.#broadcast.close();
  }

  #missing(from: { readonly incarnation: number; readonly seq: number } | null): string[] {
    const known = from !== null && from.incarnation === this.#incarnation && from.seq <= this.#seq;
    if (!known || from.seq < this.#goneFloor) return [this.#fullLine()];
    const lines: { readonly seq: number; readonly line: string }[] = [];
    for (const latest of this.#latest.values())
      if (latest.seq > from.seq) lines.push({ seq: latest.seq, line: this.#changeLine(latest) });
    for (const { id, seq } of this.#gone)
      if (seq > from.seq) lines.push({ seq, line: this.#goneLine(seq, id) });
    lines.sort((a, b) => a.seq - b.seq);
    // Says at once that the reader is up to date.
    return [...lines.map(({ line }) => line), this.#line(this.#seq, 'beat')];
  }

  /** In the order of their numbers, before anything that has a later one. */
  #sendHeld(): void {
    this.#cancelHeld?.();
    this.#cancelHeld = null;
    for (const id of this.#held) {
      const latest = this.#latest.get(id);
      if (latest !== undefined && this.readers > 0) this.#send(this.#changeLine(latest));
    }
    this.#held.clear();
  }

  #send(line: string): void {
    if (this.readers > 0) this.#broadcast.send(line);
  }

  #fullLine(): string {
    const all = Array.from(this.#latest.values(), ({ json }) => json).join(',');
    return this.#lineAround(this.#seq, 'full', `"allocations":[${all}]`);
  }

  #changeLine({ seq, json }: Latest): string {
    return this.#lineAround(seq, 'change', `"allocation":${json}`);
  }

  #goneLine(seq: number, id: string): string {
    return this.#line(seq, 'gone', { id });
  }

  /** A `HostReport` around what is JSON already: a report is encoded once, for its comparison and for all readers. */
  #lineAround(seq: number, kind: HostReport['kind'], members: string): string {
    return `${this.#line(seq, kind).slice(0, -2)},${members}}\n`;
  }

  #line(
    seq: number,
    kind: HostReport['kind'],
    more: { readonly id?: string; readonly atMs?: number } = {},
  ): string {
    return `${JSON.stringify({ host: this.#host, incarnation: this.#incarnation, seq, kind, ...more })}\n`;
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
