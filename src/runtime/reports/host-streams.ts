import type { Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import { Backoff, RECONNECT } from '../wait/backoff.ts';
import type { MergedView } from './merged-view.ts';
import type { ReportReader, ReportSource } from './stream-reader.ts';
import { SourceError } from './stream-reader.ts';
import { sleep } from '../wait/wait.ts';

export interface StreamParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly reader: ReportReader;
  readonly merged: MergedView;
  /** Asked again at every `refresh()`, and before each new try. */
  sources(): readonly ReportSource[];
  /** Streams at once. Default: no limit. */
  readonly streamsMax?: number | undefined;
  /** How many sources have no stream since the limit is reached; called when that changes. */
  readonly onUnfollowed?: ((hosts: number) => void) | undefined;
  /** How far the source's clock is ahead, as it says; negative: behind, or its message was late. */
  readonly onClock?: ((source: string, aheadMs: number) => void) | undefined;
}

interface HostStream {
  readonly source: ReportSource;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/**
 * One stream for each host, opened again from where it stood when the host can do so. Hosts beyond the limit of streams have
 * none: they are expected, and so become silent.
 */
export class HostStreams {
  readonly #parts: StreamParts;
  readonly #streams = new Map<string, HostStream>();
  /** Hosts that have no stream since the limit is reached. */
  readonly #unfollowed = new Set<string>();

  constructor(parts: StreamParts) {
    this.#parts = parts;
  }

  refresh(): void {
    const { merged, streamsMax = Infinity } = this.#parts;
    const sources = new Map(this.#parts.sources().map((source) => [source.name, source]));
    for (const [name, stream] of this.#streams) {
      const source = sources.get(name);
      if (source !== undefined && source.url === stream.source.url) continue;
      stream.stop.abort();
      this.#streams.delete(name);
      if (source === undefined) merged.forget(name);
    }
    const before = this.#unfollowed.size;
    for (const name of this.#unfollowed) {
      if (sources.has(name)) continue;
      this.#unfollowed.delete(name);
      merged.forget(name);
    }
    for (const source of sources.values()) {
      if (this.#streams.has(source.name)) continue;
      merged.expect(source.name);
      if (this.#streams.size >= streamsMax) {
        this.#unfollowed.add(source.name);
        continue;
      }
      this.#unfollowed.delete(source.name);
      const stop = new AbortController();
      this.#streams.set(source.name, { source, stop, ended: this.#follow(source, stop.signal) });
    }
    if (this.#unfollowed.size !== before) this.#parts.onUnfollowed?.(this.#unfollowed.size);
  }

  async close(): Promise<void> {
    const streams = [...this.#streams.values()];
    for (const { stop } of streams) stop.abort();
    await Promise.all(streams.map(({ ended }) => ended));
  }

  async #follow(source: ReportSource, signal: AbortSignal): Promise<void> {
    const { clock, merged, random, reader, onClock } = this.#parts;
    const backoff = new Backoff(RECONNECT, random);
    while (!signal.aborted) {
      const settled = merged.get(source.name)?.view.settled;
      const resumable = settled !== undefined && settled.incarnation >= 0;
      const query = resumable ? `?incarnation=${String(settled.incarnation)}&seq=${String(settled.seq)}` : '';
      // A source that cannot resume starts with a `full`, whatever was asked for.
      let inOrder = false;
      let first = true;
      await reader.read(source, query, signal, (frame) => {
        if (!('seq' in frame) || frame.kind === 'part' || frame.host !== source.name)
          throw new SourceError(`${source.name} speaks for another`);
        if (frame.kind === 'full') inOrder = true;
        else if (first && resumable) inOrder = frame.incarnation === settled.incarnation;
        if (!inOrder) throw new SourceError(`${source.name} did not begin with all it has`);
        if (first) backoff.reset();
        first = false;
        merged.merge(frame, true);
        if (frame.kind === 'beat' && frame.atMs !== undefined)
          onClock?.(source.name, frame.atMs - clock.nowMs());
      });
      await sleep(clock, backoff.nextMs(), signal);
    }
  }
}
