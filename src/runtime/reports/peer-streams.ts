import type { Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import type { ReportFrame } from '../../wire/api/report-frames.ts';
import { Backoff, RECONNECT } from '../wait/backoff.ts';
import { sleep } from '../wait/wait.ts';
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
  isSynced: boolean;
  heardAt: Instant | null;
}

/** What other monitors hear from the hosts that they follow directly. */
export class PeerStreams implements Peers {
  readonly #parts: PeerStreamsParts;
  readonly #streams = new Map<string, PeerStream>();
  #live: ReadonlySet<string> = new Set();

  constructor(parts: PeerStreamsParts) {
    this.#parts = parts;
  }

  get live(): ReadonlySet<string> {
    return this.#live;
  }

  hears(host: string): boolean {
    for (const { hears } of this.#streams.values()) if (hears.has(host)) return true;
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
    for (const { hears, inOrder } of this.#streams.values()) {
      hears.delete(host);
      inOrder.delete(host);
    }
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
        ...{ inOrder: new Set(), hears: new Set(), isSynced: false, heardAt: null },
      };
      this.#streams.set(source.name, stream);
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
        if (frame.synced && !stream.isSynced) {
          stream.isSynced = true;
          this.#changed();
        }
        return;
      // Whether a host is registered the store says, to each monitor by itself.
      case 'left':
        return;
      case 'silent':
        stream.hears.delete(frame.host);
        return;
      case 'part':
        throw new SourceError(`${stream.source.name} answers what it was not asked`);
      default:
        if (frame.kind === 'full') stream.inOrder.add(frame.host);
        if (stream.inOrder.has(frame.host)) stream.hears.add(frame.host);
        merged.merge(frame, stream.inOrder.has(frame.host));
        if (frame.kind === 'beat' && frame.atMs !== undefined)
          onClock(frame.host, frame.atMs - clock.nowMs());
    }
  }

  /** What it has heard counts no more. */
  #cut(stream: PeerStream): void {
    stream.inOrder.clear();
    stream.hears.clear();
    if (!stream.isSynced) return;
    stream.isSynced = false;
    this.#changed();
  }

  #changed(): void {
    const synced = [...this.#streams.values()].filter(({ isSynced }) => isSynced);
    this.#live = new Set(synced.map(({ source }) => source.name));
    this.#parts.onChange();
  }
}
