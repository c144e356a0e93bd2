import type { Mark } from '../../core/host/merge.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import type { ReportFrame } from '../../wire/api/report-frames.ts';
import { Backoff, RECONNECT } from '../wait/backoff.ts';
import type { BeatInterval } from './beat-interval.ts';
import { REPORT_BEAT_MS } from './beat-interval.ts';
import type { ReportHandlers } from './cell-view.ts';
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

export interface HostStreamsParts extends StreamParts {
  readonly beats: BeatInterval;
  readonly handlers: Pick<ReportHandlers, 'onDirect' | 'onDirectEnd'>;
  /** Is the host followed here? Absent: all are. @param isFollowed it has a stream */
  readonly follows?: ((host: string, isFollowed: boolean) => boolean) | undefined;
  /** Does another monitor hear of the host? Absent: nobody is asked. */
  readonly isRelayed?: ((host: string) => boolean) | undefined;
  /** Is another monitor about to tell all that it hears? Absent: none is. */
  readonly isBeingTold?: (() => boolean) | undefined;
  /** Called with each host whose registration is gone. */
  readonly onForgotten?: ((host: string) => void) | undefined;
}

interface HostStream {
  readonly source: ReportSource;
  readonly stop: AbortController;
  ended: Promise<void>;
  /** Of the last message, by the monotonic clock; null: the host has said nothing yet, or is silent. */
  heardAtMs: number | null;
  /** A connection that it said nothing on has ended, of which other monitors were told. */
  isMissed: boolean;
}

/**
 * One stream for each host that is followed here, opened again from where it stood when the host can do so. Hosts beyond the
 * limit of streams have none: they are expected, and so become silent.
 */
export class HostStreams {
  readonly #parts: HostStreamsParts;
  /** Those that were registered at the last refresh. */
  #registered: ReadonlyMap<string, ReportSource> = new Map();
  readonly #streams = new Map<string, HostStream>();
  /** Hosts that have no stream since the limit is reached. */
  readonly #unfollowed = new Set<string>();

  constructor(parts: HostStreamsParts) {
    this.#parts = parts;
  }

  /** Takes over which hosts are registered. */
  refresh(): void {
    const { merged, onForgotten } = this.#parts;
    const sources = new Map(this.#parts.sources().map((source) => [source.name, source]));
    for (const name of this.#registered.keys()) {
      if (sources.has(name)) continue;
      merged.forget(name);
      onForgotten?.(name);
    }
    this.#registered = sources;
    for (const [name, stream] of this.#streams)
      if (sources.get(name)?.url !== stream.source.url) this.#end(name, stream);
    this.share();
  }

  /** Follows those of the registered hosts that are to be followed here by now. */
  share(): void {
    const { follows = () => true, streamsMax = Infinity } = this.#parts;
    this.#forgetUnregistered();
    const before = this.#unfollowed.size;
    for (const name of this.#unfollowed) if (!this.#registered.has(name)) this.#unfollowed.delete(name);
    for (const [name, stream] of this.#streams) if (!follows(name, true)) this.#end(name, stream);
    const added: ReportSource[] = [];
    for (const source of this.#registered.values()) if (this.#expect(source, follows)) added.push(source);
    this.#parts.beats.follow(Math.min(streamsMax, this.#streams.size + added.length));
    // All of the cell is told in one stream sooner than thousands are opened, which would take the processors from it.
    if (this.#parts.isBeingTold?.() !== true) for (const source of added) this.#open(source);
    if (this.#unfollowed.size !== before) this.#parts.onUnfollowed?.(this.#unfollowed.size);
  }

  hears(host: string): boolean {
    return typeof this.#streams.get(host)?.heardAtMs === 'number';
  }

  /** Hosts that are followed here and are heard. */
  *heard(): IterableIterator<string> {
    for (const [name, { heardAtMs }] of this.#streams) if (heardAtMs !== null) yield name;
  }

  /** Hosts that are followed here in vain. */
  *missed(): IterableIterator<string> {
    for (const [name, { isMissed }] of this.#streams) if (isMissed) yield name;
  }

  findSilent(): void {
    const { clock, merged } = this.#parts;
    const nowMs = clock.monotonicMs();
    for (const [name, stream] of this.#streams)
      if (stream.heardAtMs !== null && nowMs > merged.silentAtMs(name, stream.heardAtMs))
        this.#unheard(name, stream);
  }

  async close(): Promise<void> {
    const streams = [...this.#streams.values()];
    for (const { stop } of streams) stop.abort();
    await Promise.all(streams.map(({ ended }) => ended));
  }

  /** Another monitor may tell of a host that it does not know to be removed. */
  #forgetUnregistered(): void {
    const { merged, isRelayed } = this.#parts;
    if (isRelayed === undefined) return;
    for (const { view } of merged.entries())
      if (!this.#registered.has(view.host) && !isRelayed(view.host)) merged.forget(view.host);
  }

  /** @returns whether it is to have a stream, and has none */
  #expect(source: ReportSource, follows: (host: string, isFollowed: boolean) => boolean): boolean {
    const { merged } = this.#parts;
    const { name } = source;
    if (this.#streams.has(name)) return false;
    merged.expect(name);
    this.#unfollowed.delete(name);
    return follows(name, false);
  }

  #open(source: ReportSource): void {
    const { merged, streamsMax = Infinity } = this.#parts;
    const { name } = source;
    if (this.#streams.size >= streamsMax) {
      this.#unfollowed.add(name);
      return;
    }
    merged.followed(name);
    const stream: HostStream = {
      ...{ source, stop: new AbortController(), ended: Promise.resolve() },
      ...{ heardAtMs: null, isMissed: false },
    };
    this.#streams.set(name, stream);
    stream.ended = this.#follow(stream);
  }

  #end(name: string, stream: HostStream): void {
    stream.stop.abort();
    this.#streams.delete(name);
    this.#parts.merged.cut(name);
    this.#unheard(name, stream);
  }

  #unheard(name: string, stream: HostStream): void {
    if (stream.isMissed) return;
    const { clock, handlers } = this.#parts;
    const silentMs = stream.heardAtMs === null ? 0 : clock.monotonicMs() - stream.heardAtMs;
    stream.isMissed = true;
    stream.heardAtMs = null;
    handlers.onDirectEnd?.(name, silentMs);
  }

  async #follow(stream: HostStream): Promise<void> {
    const { source } = stream;
    const { signal } = stream.stop;
    const { beats, clock, merged, random, reader, handlers, onClock } = this.#parts;
    const backoff = new Backoff(RECONNECT, random);
    while (!signal.aborted) {
      const settled = merged.get(source.name)?.view.settled;
      const resumable = settled !== undefined && settled.incarnation >= 0;
      const query = queryOf(beats.ms, resumable ? settled : null);
      // A source that cannot resume starts with a `full`, whatever was asked for.
      let inOrder = false;
      let first = true;
      const onFrame = (frame: ReportFrame): void => {
        if (!('seq' in frame) || frame.kind === 'part' || frame.host !== source.name)
          throw new SourceError(`${source.name} speaks for another`);
        if (frame.kind === 'full') inOrder = true;
        else if (first && resumable) inOrder = frame.incarnation === settled.incarnation;
        if (!inOrder) throw new SourceError(`${source.name} did not begin with all it has`);
        if (first) {
          backoff.reset();
          merged.opened(source.name);
        }
        merged.merge(frame, true);
        handlers.onDirect?.(frame, first || stream.heardAtMs === null);
        stream.heardAtMs = clock.monotonicMs();
        stream.isMissed = false;
        first = false;
        if (frame.kind === 'beat' && frame.atMs !== undefined)
          onClock?.(source.name, frame.atMs - clock.nowMs());
      };
      const options = { silenceMs: beats.silenceMs, isMissed: stream.isMissed };
      await reader.read(source, query, signal, onFrame, options);
      if (!signal.aborted) merged.cut(source.name);
      if (first && !signal.aborted && stream.heardAtMs === null) this.#unheard(source.name, stream);
      await sleep(clock, backoff.nextMs(), signal);
    }
  }
}

/** @param from where the stream is to go on; null: it begins with all that the host has */
function queryOf(beatMs: number, from: Mark | null): string {
  const query = new URLSearchParams();
  if (from !== null) {
    query.set('incarnation', String(from.incarnation));
    query.set('seq', String(from.seq));
  }
  if (beatMs > REPORT_BEAT_MS) query.set('beatMs', String(Math.round(beatMs)));
  return query.size === 0 ? '' : `?${query.toString()}`;
}
