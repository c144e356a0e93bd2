import type { HostReport } from '../../src/core/host/report.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { Broadcast } from '../../src/runtime/stream/stream.ts';
import type { HostChange, HostFreshness } from '../../src/runtime/reports/cell-view.ts';
import { ndjsonLine } from '../../src/core/json/ndjson.ts';
import type { ReportFollower } from '../../src/runtime/reports/reports.ts';
import { REPORT_BEAT_MS, SILENCE_MS } from '../../src/runtime/reports/beat-interval.ts';
import type { ReportFrame } from '../../src/wire/api/report-frames.ts';
import { every } from '../../src/runtime/wait/wait.ts';

/** Batches that one reader may be behind before it is cut off and must begin anew. */
export const RELAY_QUEUE_MAX = 10_000;
const BATCH_CHARS = 64 * 1024;

/** A clock that is less wrong than this is no news to other monitors: it must be less than what `HostClocks` tells of. */
const CLOCK_OFF_MS = 1_000;

/**
 * This monitor's merged view as a source for schedulers and arbiters, and what hosts say to it directly as a source for other
 * monitors. A message is encoded once for all readers. See docs/decisions/monitors-copies.md.
 */
export class ReportRelay {
  readonly #follower: ReportFollower;
  readonly #clock: Clock;
  readonly #merged: Outlet;
  readonly #direct: Outlet;
  readonly #stopBeat: () => void;
  /** Hosts whose clock is wrong, as the other monitors know. */
  readonly #clocksOff = new Set<string>();
  /** The last message and its line: most go to both kinds of readers. */
  #last: { readonly frame: ReportFrame | null; readonly line: string } = { frame: null, line: '' };

  constructor(follower: ReportFollower, clock: Clock) {
    this.#follower = follower;
    this.#clock = clock;
    this.#merged = new Outlet();
    this.#direct = new Outlet();
    this.#stopBeat = every(clock, REPORT_BEAT_MS, () => {
      const frame = this.#viewFrame(true);
      for (const outlet of [this.#merged, this.#direct]) this.#send(outlet, frame);
    });
  }

  get readers(): number {
    return this.#merged.readers + this.#direct.readers;
  }

  /** A host reported a change. Beats are not passed on: a host that is not `silent` is reporting. */
  onMessage(message: HostReport): void {
    if (message.kind !== 'beat') this.#send(this.#merged, message);
  }

  /** A host said something directly, which is merged. @param begins readers need all that is known of it */
  onDirect(message: HostReport, begins: boolean): void {
    if (begins) for (const known of this.#follower.messagesOf(message.host)) this.#send(this.#direct, known);
    else if (message.kind !== 'beat' || this.#isClockNews(message)) this.#send(this.#direct, message);
  }

  onDirectEnd(host: string, silentMs: number): void {
    this.#clocksOff.delete(host);
    this.#send(this.#direct, { kind: 'silent', host, silentMs });
  }

  onHost(freshness: HostFreshness, what: HostChange): void {
    const { host, incarnation, seq } = freshness;
    const outlet = this.#merged;
    if (what === 'left') this.#send(outlet, { kind: 'left', host });
    else if (what === 'silent') this.#send(outlet, this.#silentFrame(freshness));
    else if (incarnation >= 0) this.#send(outlet, { kind: 'beat', host, incarnation, seq });
  }

  onComplete(): void {
    this.#send(this.#merged, this.#viewFrame(true));
  }

  /** Everything known, then every change. */
  async *read(signal: AbortSignal): AsyncGenerator<string> {
    // From here on changes queue up. What is sent below may hold some of them already: the merge is idempotent.
    const live = this.#merged.subscribe(signal);
    let text = ndjsonLine(this.#viewFrame(false));
    const sent = new Set<string>();
    for (const message of this.#follower.messages()) {
      text += ndjsonLine(message);
      // In one chunk with its messages: a reader takes a host with messages for one that is reporting.
      text += this.#silentLine(this.#follower.view.host(message.host));
      sent.add(message.host);
      if (text.length < BATCH_CHARS) continue;
      yield text;
      text = '';
    }
    for (const freshness of this.#follower.view.hosts())
      if (!sent.has(freshness.host)) text += this.#silentLine(freshness);
    yield text + ndjsonLine(this.#viewFrame(true));
    yield* live;
  }

  /** Everything that hosts said directly, then whatever they say. */
  async *readDirect(signal: AbortSignal): AsyncGenerator<string> {
    const live = this.#direct.subscribe(signal);
    yield* this.#inBatches(this.#follower.directMessages());
    yield* live;
  }

  /** What hosts report of the jobs, by `<namespace>/<job>`, and whether the view is complete. */
  answer(jobKeys: readonly string[]): AsyncGenerator<string> {
    return this.#inBatches(this.#follower.partsOf(jobKeys));
  }

  close(): void {
    this.#stopBeat();
    this.#merged.close();
    this.#direct.close();
  }

  /** With a `view` at the end. */
  async *#inBatches(frames: Iterable<ReportFrame>): AsyncGenerator<string> {
    let text = '';
    for (const frame of frames) {
      text += ndjsonLine(frame);
      if (text.length < BATCH_CHARS) continue;
      yield text;
      text = '';
    }
    yield text + ndjsonLine(this.#viewFrame(true));
  }

  #send(outlet: Outlet, frame: ReportFrame): void {
    if (outlet.readers === 0) return;
    if (this.#last.frame !== frame) this.#last = { frame, line: ndjsonLine(frame) };
    outlet.send(this.#last.line);
  }

  /** Its clock is wrong, or is right again. */
  #isClockNews({ host, atMs }: HostReport & { readonly kind: 'beat' }): boolean {
    if (atMs === undefined) return false;
    const isOff = Math.abs(atMs - this.#clock.nowMs()) > CLOCK_OFF_MS;
    if (isOff) this.#clocksOff.add(host);
    return isOff || this.#clocksOff.delete(host);
  }

  #viewFrame(synced: boolean): ReportFrame {
    const { view, hostSilenceMs } = this.#follower;
    const silence = hostSilenceMs === SILENCE_MS ? {} : { silenceMs: hostSilenceMs };
    return { kind: 'view', complete: view.complete, synced, ...silence };
  }

  /** Empty for a host that is reporting. */
  #silentLine(freshness: HostFreshness | undefined): string {
    return freshness === undefined || freshness.staleSinceMs === null
      ? ''
      : ndjsonLine(this.#silentFrame(freshness));
  }

  #silentFrame(freshness: HostFreshness): ReportFrame {
    const silentMs = Math.max(0, this.#clock.nowMs() - (freshness.staleSinceMs ?? this.#clock.nowMs()));
    return { kind: 'silent', host: freshness.host, silentMs };
  }
}

/** Lines for all of its readers. */
class Outlet {
  readonly #live = new Broadcast<string>(RELAY_QUEUE_MAX);
  #batch: string[] = [];

  get readers(): number {
    return this.#live.readers;
  }

  subscribe(signal: AbortSignal): AsyncIterable<string> {
    this.#flush();
    return this.#live.subscribe(signal);
  }

  send(line: string): void {
    this.#batch.push(line);
    if (this.#batch.length === 1) queueMicrotask(() => this.#flush());
  }

  close(): void {
    this.#live.close();
  }

  #flush(): void {
    if (this.#batch.length === 0) return;
    const text = this.#batch.join('');
    this.#batch = [];
    this.#live.send(text);
  }
}
