import { Backoff, RECONNECT } from '../wait/backoff.ts';
import type { StreamParts } from './host-streams.ts';
import { SILENCE_MS } from './beat-interval.ts';
import type { Upstream } from './merged-view.ts';
import { MonitorReachability } from './monitor-reachability.ts';
import type { ReportSource } from './stream-reader.ts';
import { SourceError } from './stream-reader.ts';
import { sleep } from '../wait/wait.ts';
import { Waker } from '../wait/waker.ts';

/** One monitor's stream with all hosts in it; when it ends, or shows most hosts silent for long, another monitor's. */
export class MonitorStream {
  readonly #parts: StreamParts;
  readonly #upstream: Upstream;
  readonly #stop = new AbortController();
  readonly #changed = new Waker();
  readonly #reachability: MonitorReachability;
  /** The stream in use. It has a signal of its own: HTTP clients may keep a listener on a signal for its whole life. */
  #stream: { readonly source: ReportSource; readonly stop: AbortController } | null = null;
  #ended: Promise<void> | null = null;

  constructor(parts: StreamParts, upstream: Upstream) {
    this.#parts = parts;
    this.#upstream = upstream;
    this.#reachability = new MonitorReachability(parts.random);
  }

  /** The monitor whose stream is in use; null while there is none. */
  get source(): ReportSource | null {
    return this.#stream?.source ?? null;
  }

  refresh(): void {
    this.#ended ??= this.#follow();
    this.#changed.wake();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#stream?.stop.abort();
    await this.#ended;
  }

  async #follow(): Promise<void> {
    const { clock, merged, random } = this.#parts;
    const { signal } = this.#stop;
    const backoff = new Backoff(RECONNECT, random);
    let last = '';
    while (!signal.aborted) {
      const source = this.#nextSource(last);
      if (source === undefined) {
        await Promise.race([this.#changed.wait(signal), sleep(clock, RECONNECT.maxMs, signal)]);
        continue;
      }
      last = source.name;
      const stop = new AbortController();
      this.#stream = { source, stop };
      await this.#read(source, stop.signal, () => backoff.reset());
      this.#stream = null;
      this.#upstream.complete = false;
      merged.checkComplete();
      await sleep(clock, backoff.nextMs(), signal);
    }
  }

  /** Not the last one when there is another: the last one just failed. */
  #nextSource(last: string): ReportSource | undefined {
    const sources = this.#parts.sources();
    const others = sources.filter((source) => source.name !== last);
    const from = others.length > 0 ? others : sources;
    return from.length === 0 ? undefined : from[this.#parts.random.below(from.length)];
  }

  async #read(source: ReportSource, signal: AbortSignal, onFirst: () => void): Promise<void> {
    const { merged, reader } = this.#parts;
    const upstream = this.#upstream;
    const reachability = this.#reachability;
    const inOrder = new Set<string>();
    let synced = false;
    reachability.begin();
    await reader.read(source, '', signal, (frame) => {
      onFirst();
      upstream.heardAt = merged.now();
      switch (frame.kind) {
        case 'view':
          upstream.hostSilenceMs = Math.max(upstream.hostSilenceMs, frame.silenceMs ?? SILENCE_MS);
          if (frame.synced && !synced) this.#forgetRemoved();
          synced ||= frame.synced;
          upstream.complete = frame.complete && synced;
          merged.checkComplete();
          this.#leaveWhenCutOff(source);
          return;
        case 'left':
          reachability.left(frame.host);
          merged.forget(frame.host);
          return;
        case 'silent':
          reachability.silent(frame.host);
          merged.silent(frame.host, frame.silentMs);
          return;
        case 'part':
          throw new SourceError(`${source.name} answers what it was not asked`);
        default:
          reachability.reporting(frame.host);
          if (frame.kind === 'full') inOrder.add(frame.host);
          // A later start of the host is not in order before its own `full`: a beat of it settles nothing.
          else if (frame.incarnation > this.#incarnationOf(frame.host)) inOrder.delete(frame.host);
          merged.merge(frame, inOrder.has(frame.host));
      }
    });
  }

  /** @throws SourceError when more hosts may report to another monitor */
  #leaveWhenCutOff({ name }: ReportSource): void {
    const parts = this.#parts;
    if (!this.#upstream.complete) return;
    const nowMs = parts.clock.monotonicMs();
    this.#reachability.observe(nowMs);
    if (parts.sources().some((source) => source.name !== name) && this.#reachability.isCutOff(nowMs))
      throw new SourceError(`to ${name} most hosts are silent`);
  }

  #incarnationOf(host: string): number {
    return this.#parts.merged.get(host)?.view.mark.incarnation ?? -1;
  }

  /** Hosts that the new monitor does not know were removed between the two streams. */
  #forgetRemoved(): void {
    const { merged } = this.#parts;
    const gone = [...merged.entries()].filter((entry) => !this.#reachability.knows(entry.view.host));
    for (const entry of gone) merged.forget(entry.view.host);
  }
}
