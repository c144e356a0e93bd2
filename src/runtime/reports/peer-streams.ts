import type { Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import type { ReportFrame } from '../../wire/api/report-frames.ts';
import { Backoff, RECONNECT } from '../wait/backoff.ts';
import { sleep } from '../wait/wait.ts';
import { SILENCE_MS } from './beat-interval.ts';
import type { Instant } from './cell-view.ts';
import type { Peers } from './host-share.ts';
import type { MergedView } from './merged-view.ts';
import type { ReportReader, ReportSource } from './stream-reader.ts';
import { SourceError } from './stream-reader.ts';

export interface PeerStreamsParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly reader: ReportReader;
  readonly merged: () => MergedView;
  /** The other monitors. Asked again at every `refresh()`. */
  peers(): readonly ReportSource[];
  /** A monitor has not heard of the host for so long, and no other one hears of it. */
  onMissed(host: string, silentMs: number): void;
  /** A monitor has told all it knows, or its stream ended. */
  onChange(): void;
  readonly onClock: (host: string, aheadMs: number) => void;
}

/** One stream to another monitor, with what it hears of hosts directly. */
interface PeerStream {
  readonly source: ReportSource;
  readonly stop: AbortController;
  ended: Promise<void>;
  /** These are of the connection that is open; empty while none is. */
  readonly inOrder: Set<string>;
  readonly hears: Set<string>;
  readonly misses: Set<string>;
  /** `new`: its first connection is being opened. */
  state: 'new' | 'synced' | 'cut';
  heardAt: Instant | null;
}

/** What other monitors hear from the hosts that they follow directly. */
export class PeerStreams implements Peers {
  readonly #parts: PeerStreamsParts;
  readonly #streams = new Map<string, PeerStream>();
  #hostSilenceMs = SILENCE_MS;
  #live: ReadonlySet<string> = new Set();

  constructor(parts: PeerStreamsParts) {
    this.#parts = parts;
  }

  get live(): ReadonlySet<string> {
    return this.#live;
  }

  /** One of them is asked for the first time, and has not yet told all. */
  get hasNew(): boolean {
    for (const { state } of this.#streams.values()) if (state === 'new') return true;
    return false;
  }

  /** The longest that one of them waits for a host before it calls the host silent. */
  get hostSilenceMs(): number {
    return this.#hostSilenceMs;
  }

  hears(host: string): boolean {
    for (const { hears } of this.#streams.values()) if (hears.has(host)) return true;
    return false;
  }

  misses(host: string): boolean {
    for (const { misses } of this.#streams.values()) if (misses.has(host)) return true;
    return false;
  }

  /** When a monitor that hears of the host last said anything; null: none does. */
  heardAt(host: string): Instant | null {
    let latest: Instant | null = null;
    for (const { hears, heardAt } of this.#streams.values())
      if (heardAt !== null && hears.has(host) && heardAt.monotonicMs > (latest?.monotonicMs ?? 0))
        latest = heardAt;
    return latest;
  }

  /** The host's registration is gone, and with it all that was known: what comes next needs a `full` before it. */
  forget(host: string): void {
    for (const { hears, misses, inOrder } of this.#streams.values())
      for (const hosts of [hears, misses, inOrder]) hosts.delete(host);
  }

  refresh(): void {
    const sources = new Map(this.#parts.peers().map((source) => [source.name, source]));
    for (const [name, stream] of this.#streams) {
      if (sources.get(name)?.url === stream.source.url) continue;
      stream.stop.abort();
      this.#streams.delete(name);
      this.#cut(stream);
    }
    for (const source of sources.values()) {
      if (this.#streams.has(source.name)) continue;
      const stream: PeerStream = {
        ...{ source, stop: new AbortController(), ended: Promise.resolve() },
        ...{ inOrder: new Set(), hears: new Set(), misses: new Set(), state: 'new', heardAt: null },
      };
      this.#streams.set(source.name, stream);
      this.#findLive();
      stream.ended = this.#follow(stream);
    }
  }

  async close(): Promise<void> {
    const streams = [...this.#streams.values()];
    for (const { stop } of streams) stop.abort();
    await Promise.all(streams.map(({ ended }) => ended));
  }

  async #follow(stream: PeerStream): Promise<void> {
    const { clock, random, reader } = this.#parts;
    const { signal } = stream.stop;
    const backoff = new Backoff(RECONNECT, random);
    while (!signal.aborted) {
      await reader.read(stream.source, '?hosts=own', signal, (frame) => {
        backoff.reset();
        this.#take(stream, frame);
      });
      this.#cut(stream);
      await sleep(clock, backoff.nextMs(), signal);
    }
  }

  #take(stream: PeerStream, frame: ReportFrame): void {
    const { clock, onClock } = this.#parts;
    const merged = this.#parts.merged();
    stream.heardAt = merged.now();
    switch (frame.kind) {
      case 'view':
        this.#hostSilenceMs = Math.max(this.#hostSilenceMs, frame.silenceMs ?? SILENCE_MS);
        if (frame.synced) this.#become(stream, 'synced');
        return;
      // Whether a host is registered the store says, to each monitor by itself.
      case 'left':
        return;
      case 'silent':
        stream.hears.delete(frame.host);
        stream.misses.add(frame.host);
        if (!this.hears(frame.host)) this.#parts.onMissed(frame.host, frame.silentMs);
        return;
      case 'part':
        throw new SourceError(`${stream.source.name} answers what it was not asked`);
      default:
        if (frame.kind === 'full') stream.inOrder.add(frame.host);
        if (stream.inOrder.has(frame.host)) stream.hears.add(frame.host);
        stream.misses.delete(frame.host);
        merged.merge(frame, stream.inOrder.has(frame.host));
        if (frame.kind === 'beat' && frame.atMs !== undefined)
          onClock(frame.host, frame.atMs - clock.nowMs());
    }
  }

  /** What it has heard counts no more. */
  #cut(stream: PeerStream): void {
    for (const hosts of [stream.inOrder, stream.hears, stream.misses]) hosts.clear();
    this.#become(stream, 'cut');
  }

  #become(stream: PeerStream, state: PeerStream['state']): void {
    if (stream.state === state) return;
    stream.state = state;
    this.#findLive();
    this.#parts.onChange();
  }

  #findLive(): void {
    const live = [...this.#streams.values()].filter(({ state }) => state !== 'cut');
    const names = live.map(({ source }) => source.name);
    if (names.length === this.#live.size && names.every((name) => this.#live.has(name))) return;
    this.#live = new Set(names);
  }
}
