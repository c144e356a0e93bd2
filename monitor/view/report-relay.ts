import type { HostReport } from '../../src/core/host/report.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { Broadcast } from '../../src/runtime/stream/stream.ts';
import type { HostChange, HostFreshness } from '../../src/runtime/reports/cell-view.ts';
import { ndjsonLine } from '../../src/core/json/ndjson.ts';
import type { ReportFollower } from '../../src/runtime/reports/reports.ts';
import { REPORT_BEAT_MS } from '../../src/runtime/reports/reports.ts';
import type { ReportFrame } from '../../src/wire/api/report-frames.ts';
import { every } from '../../src/runtime/wait/wait.ts';

/** Batches that one reader may be behind before it is cut off and must begin anew. */
export const RELAY_QUEUE_MAX = 10_000;
const BATCH_CHARS = 64 * 1024;

/**
 * This monitor's merged view as a source for schedulers, arbiters and other monitors. A message is encoded once for all
 * readers; messages of one turn of the event loop travel as one chunk. See docs/decisions/monitors-copies.md.
 */
export class ReportRelay {
  readonly #follower: ReportFollower;
  readonly #clock: Clock;
  readonly #live = new Broadcast<string>(RELAY_QUEUE_MAX);
  readonly #stopBeat: () => void;
  #batch: string[] = [];

  constructor(follower: ReportFollower, clock: Clock) {
    this.#follower = follower;
    this.#clock = clock;
    this.#stopBeat = every(clock, REPORT_BEAT_MS, () => this.#send(this.#viewFrame(true)));
  }

  get readers(): number {
    return this.#live.readers;
  }

  /** A host reported a change. Beats are not passed on: a host that is not `silent` is reporting. */
  onMessage(message: HostReport): void {
    if (message.kind !== 'beat') this.#send(message);
  }

  onHost(freshness: HostFreshness, what: HostChange): void {
    const { host, incarnation, seq } = freshness;
    if (what === 'left') this.#send({ kind: 'left', host });
    else if (what === 'silent') this.#send(this.#silentFrame(freshness));
    else if (incarnation >= 0) this.#send({ kind: 'beat', host, incarnation, seq });
  }

  onComplete(): void {
    this.#send(this.#viewFrame(true));
  }

  /** Everything known, then every change. */
  async *read(signal: AbortSignal): AsyncGenerator<string> {
    this.#flush();
    // From here on changes queue up. What is sent below may hold some of them already: the merge is idempotent.
    const live = this.#live.subscribe(signal);
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

  /** What hosts report of the jobs, by `<namespace>/<job>`, and whether the view is complete. */
  async *answer(jobKeys: readonly string[]): AsyncGenerator<string> {
    let text = '';
    for (const part of this.#follower.partsOf(jobKeys)) {
      text += ndjsonLine(part);
      if (text.length < BATCH_CHARS) continue;
      yield text;
      text = '';
    }
    yield text + ndjsonLine(this.#viewFrame(true));
  }

  close(): void {
    this.#stopBeat();
    this.#live.close();
  }

  #send(frame: ReportFrame): void {
    if (this.#live.readers === 0) return;
    this.#batch.push(ndjsonLine(frame));
    if (this.#batch.length === 1) queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    if (this.#batch.length === 0) return;
    const text = this.#batch.join('');
    this.#batch = [];
    this.#live.send(text);
  }

  #viewFrame(synced: boolean): ReportFrame {
    return { kind: 'view', complete: this.#follower.view.complete, synced };
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
