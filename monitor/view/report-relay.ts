import type { HostReport } from '../../src/core/host/report.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { Broadcast } from '../../src/runtime/stream/stream.ts';
import type { HostChange, HostFreshness } from '../../src/runtime/reports/cell-view.ts';
import { ndjsonLine } from '../../src/runtime/stream/ndjson.ts';
import type { ReportFollower } from '../../src/runtime/reports/reports.ts';
import { REPORT_BEAT_MS } from '../../src/runtime/reports/reports.ts';
import type { ReportFrame } from '../../src/wire/api/report-frames.ts';
import { every } from '../../src/runtime/wait/wait.ts';

/** Batches that one reader may be behind before it is cut off and must begin anew. */
export const RELAY_QUEUE_MAX = 10_000;
/** Text sent at once while a new reader is brought up to date. */
const BATCH_CHARS = 64 * 1024;

/**
 * This monitor's merged view as a source for schedulers, arbiters and other monitors. Every message is turned into text
 * once for all readers; those that come in one go travel as one chunk.
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

  /** A host said something new. Beats are kept back: a host that is not `silent` is heard. */
  onMessage(message: HostReport): void {
    if (message.kind !== 'beat') this.#send(message);
  }

  onHost(sight: HostFreshness, what: HostChange): void {
    const { host, incarnation, seq } = sight;
    if (what === 'left') this.#send({ kind: 'left', host });
    else if (what === 'silent') this.#send(this.#silentFrame(sight));
    else if (incarnation >= 0) this.#send({ kind: 'beat', host, incarnation, seq });
  }

  onComplete(): void {
    this.#send(this.#viewFrame(true));
  }

  /** Everything known, then all that comes. */
  async *read(signal: AbortSignal): AsyncGenerator<string> {
    this.#flush();
    // From here on changes queue up. What is sent below may already hold some of them; the merge takes no harm.
    const live = this.#live.subscribe(signal);
    let text = ndjsonLine(this.#viewFrame(false));
    const told = new Set<string>();
    for (const message of this.#follower.messages()) {
      text += ndjsonLine(message);
      // In one piece with what is known of it: a reader takes a host of which it has just been told for one that is heard.
      text += this.#silentLine(this.#follower.view.host(message.host));
      told.add(message.host);
      if (text.length < BATCH_CHARS) continue;
      yield text;
      text = '';
    }
    for (const sight of this.#follower.view.hosts())
      if (!told.has(sight.host)) text += this.#silentLine(sight);
    yield text + ndjsonLine(this.#viewFrame(true));
    yield* live;
  }

  /** What hosts report of the jobs, by `<namespace>/<job>`, and whether that is all. */
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

  /** Nothing of a host that is heard. */
  #silentLine(sight: HostFreshness | undefined): string {
    return sight === undefined || sight.staleSinceMs === null ? '' : ndjsonLine(this.#silentFrame(sight));
  }

  #silentFrame(sight: HostFreshness): ReportFrame {
    const silentMs = Math.max(0, this.#clock.nowMs() - (sight.staleSinceMs ?? this.#clock.nowMs()));
    return { kind: 'silent', host: sight.host, silentMs };
  }
}
