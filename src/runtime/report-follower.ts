import type { AllocationReport, HostReport } from '../core/report.ts';
import type { Clock } from '../ports/clock.ts';
import type { HttpClient } from '../ports/http.ts';
import type { Random } from '../ports/random.ts';
import type { Log } from '../ports/telemetry.ts';
import type { ReportFrame } from '../wire/report-frames.ts';
import { readReportFrame } from '../wire/report-frames.ts';
import { Backoff } from './backoff.ts';
import type { CellView, Heard, HostChange, HostEntry, HostSight } from './cell-view.ts';
import { ViewIndex } from './cell-view.ts';
import { NdjsonParser } from './ndjson.ts';
import { sleep } from './sleep.ts';
import { Waker } from './waker.ts';

/** One that serves `/v1/reports`: in mode `all` a host (by its id), in mode `any-one` a monitor. */
export interface ReportSource {
  readonly name: string;
  /** Base URL without a slash at the end. */
  readonly url: string;
}

export interface ReportFollowerDeps {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Asked again at every `refresh()`, and before each new try. */
  sources(): readonly ReportSource[];
  readonly handlers?: ReportHandlers;
  readonly options: ReportFollowerOptions;
}

export interface ReportFollowerOptions {
  /**
   * `all`: every source is a host and has a stream of its own; for monitors. `any-one`: the sources are monitors, each
   * with all hosts in one stream, and one of them is enough; for schedulers and arbiters.
   */
  readonly mode: 'all' | 'any-one';
  /** A source or host that says nothing for this long counts as silent. Default `SILENCE_MS`. */
  readonly silenceMs?: number;
}

/** All are called in the order in which things became known, and must not throw. */
export interface ReportHandlers {
  /** The observed half of an allocation is new or changed. */
  onReport?(report: AllocationReport, previous: AllocationReport | undefined): void;
  /** The host forgot the record (removed after its outcome was durable). `previous` is its last report. */
  onGone?(previous: AllocationReport): void;
  onHost?(sight: HostSight, what: HostChange): void;
  /** A message that was news was merged: for those who hand messages on. */
  onMessage?(message: HostReport): void;
  /** `view.complete` became true or false. */
  onComplete?(complete: boolean): void;
}

/** Three beats of a host (`REPORT_BEAT_MS`), so that one lost beat means nothing (I18). */
export const SILENCE_MS = 3_000;
/** How often a host or monitor that has nothing to say says so on its report stream. */
export const REPORT_BEAT_MS = 1_000;

const CONNECT_TIMEOUT_MS = 3_000;
const RECONNECT = { firstMs: 100, maxMs: 5_000 };
/** Streams being opened at once: at start a monitor has thousands to open, and each answers with a `full`. */
const CONNECTS_MAX = 256;

interface Stream {
  readonly source: ReportSource;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/** A source broke the rules of the stream: it is cut, and followed anew from a `full`. */
class SourceError extends Error {
  override readonly name = 'SourceError';
}

/**
 * Follows report streams and keeps their merged view. Streams that end, are cut or fall silent are opened again with
 * backoff, from where they stood when the source can do so. A host that cannot be heard stays in the view with its last
 * known allocations, marked stale (I51).
 */
export class ReportFollower {
  readonly #deps: ReportFollowerDeps;
  readonly #index: ViewIndex;
  readonly #silenceMs: number;
  readonly #streams = new Map<string, Stream>();
  readonly #stop = new AbortController();
  readonly #changed = new Waker();
  readonly view: CellView;
  /** Hosts that have neither reported nor timed out. */
  readonly #awaited = new Set<string>();
  #connects = 0;
  readonly #waitingToConnect: (() => void)[] = [];
  #anyOne: Promise<void> | null = null;
  /** Mode `any-one`: the last word of the monitor in use, and what it said of its own view. */
  #sourceHeard: Heard | null = null;
  #sourceComplete = false;
  #complete = false;
  #started = false;
  #cancelLook: () => void = () => undefined;

  constructor(deps: ReportFollowerDeps) {
    this.#deps = deps;
    this.#silenceMs = deps.options.silenceMs ?? SILENCE_MS;
    this.#index = new ViewIndex({
      onSet: (report, previous) => deps.handlers?.onReport?.(report, previous),
      onGone: (previous) => deps.handlers?.onGone?.(previous),
    });
    this.view = this.#makeView();
  }

  /** Name of the monitor whose stream is in use; null in mode `all`, and while there is none. */
  get source(): string | null {
    if (this.#deps.options.mode === 'all') return null;
    const [stream] = this.#streams.values();
    return stream?.source.name ?? null;
  }

  /** The merged messages of every host: what an empty view needs to become this one. */
  *messages(): IterableIterator<HostReport> {
    for (const entry of this.#index.entries()) yield* entry.view.messages();
  }

  /** Begins to follow; later, the sources may have changed. */
  refresh(): void {
    if (this.#stop.signal.aborted) return;
    if (!this.#started) {
      this.#started = true;
      this.#look();
    }
    if (this.#deps.options.mode === 'all') this.#refreshAll();
    else {
      this.#anyOne ??= this.#followAnyOne();
      this.#changed.wake();
    }
    this.#checkComplete();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#cancelLook();
    for (const resolve of this.#waitingToConnect.splice(0)) resolve();
    const ends = [...this.#streams.values()].map((stream) => stream.ended);
    for (const stream of this.#streams.values()) stream.stop.abort();
    await Promise.all([...ends, this.#anyOne]);
  }

  // --- mode `all` -----------------------------------------------------------------------------------------------------

  #refreshAll(): void {
    const sources = new Map(this.#deps.sources().map((source) => [source.name, source]));
    for (const [name, stream] of this.#streams) {
      const source = sources.get(name);
      if (source !== undefined && source.url === stream.source.url) continue;
      stream.stop.abort();
      this.#streams.delete(name);
      if (source === undefined) this.#forget(name);
    }
    for (const source of sources.values()) {
      if (this.#streams.has(source.name)) continue;
      if (this.#index.get(source.name) === undefined) this.#awaited.add(source.name);
      this.#index.expect(source.name, this.#now());
      const stop = new AbortController();
      this.#streams.set(source.name, { source, stop, ended: this.#followHost(source, stop.signal) });
    }
  }

  async #followHost(source: ReportSource, signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(RECONNECT, this.#deps.random);
    while (!signal.aborted) {
      const settled = this.#index.get(source.name)?.view.settled;
      const resumable = settled !== undefined && settled.incarnation >= 0;
      const query = resumable ? `?incarnation=${String(settled.incarnation)}&seq=${String(settled.seq)}` : '';
      // A source that cannot resume starts with a `full`, whatever we asked for.
      let inOrder = false;
      let first = true;
      await this.#read(source, query, signal, (frame) => {
        if (!('seq' in frame) || frame.host !== source.name)
          throw new SourceError(`${source.name} speaks for another`);
        if (frame.kind === 'full') inOrder = true;
        else if (first && resumable) inOrder = frame.incarnation === settled.incarnation;
        if (!inOrder) throw new SourceError(`${source.name} did not begin with all it has`);
        if (first) backoff.reset();
        first = false;
        this.#merge(frame, true);
      });
      await sleep(this.#deps.clock, backoff.nextMs(), signal);
    }
  }

  #forget(host: string): void {
    const entry = this.#index.get(host);
    if (entry === undefined) return;
    const sight = this.#sightOf(entry);
    this.#index.forget(host);
    this.#awaited.delete(host);
    this.#deps.handlers?.onHost?.(sight, 'left');
  }

  // --- mode `any-one` -------------------------------------------------------------------------------------------------

  async #followAnyOne(): Promise<void> {
    const signal = this.#stop.signal;
    const backoff = new Backoff(RECONNECT, this.#deps.random);
    let last = '';
    while (!signal.aborted) {
      const source = this.#nextSource(last);
      if (source === undefined) {
        await Promise.race([this.#changed.wait(signal), sleep(this.#deps.clock, RECONNECT.maxMs, signal)]);
        continue;
      }
      last = source.name;
      const stop = new AbortController();
      const ended = this.#followMonitor(source, stop.signal, () => backoff.reset());
      this.#streams.set(source.name, { source, stop, ended });
      await ended;
      this.#streams.delete(source.name);
      this.#sourceComplete = false;
      this.#checkComplete();
      await sleep(this.#deps.clock, backoff.nextMs(), signal);
    }
  }

  /** Another one than the last when there is another: the last one just failed. */
  #nextSource(last: string): ReportSource | undefined {
    const sources = this.#deps.sources();
    const others = sources.filter((source) => source.name !== last);
    const from = others.length > 0 ? others : sources;
    return from.length === 0 ? undefined : from[this.#deps.random.below(from.length)];
  }

  async #followMonitor(source: ReportSource, signal: AbortSignal, onFirst: () => void): Promise<void> {
    const known = new Set<string>();
    const inOrder = new Set<string>();
    let synced = false;
    await this.#read(source, '', signal, (frame) => {
      onFirst();
      this.#sourceHeard = this.#now();
      switch (frame.kind) {
        case 'view':
          if (frame.synced && !synced) this.#forgetOthers(known);
          synced ||= frame.synced;
          this.#sourceComplete = frame.complete && synced;
          this.#checkComplete();
          return;
        case 'left':
          this.#forget(frame.host);
          return;
        case 'silent':
          known.add(frame.host);
          this.#silent(frame.host, frame.silentMs);
          return;
        default:
          known.add(frame.host);
          if (frame.kind === 'full') inOrder.add(frame.host);
          // A later start of the host is not in order before its own `full`: a beat of it settles nothing.
          else if (frame.incarnation > this.#incarnationOf(frame.host)) inOrder.delete(frame.host);
          this.#merge(frame, inOrder.has(frame.host));
      }
    });
  }

  #incarnationOf(host: string): number {
    return this.#index.get(host)?.view.mark.incarnation ?? -1;
  }

  /** Hosts that the new monitor does not know left while nobody told us. */
  #forgetOthers(known: ReadonlySet<string>): void {
    const gone = [...this.#index.entries()].filter((entry) => !known.has(entry.view.host));
    for (const entry of gone) this.#forget(entry.view.host);
  }

  #silent(host: string, silentMs: number): void {
    const now = this.#now();
    const entry = this.#index.expect(host, now);
    const before = entry.silentSince;
    entry.silentSince = { wallMs: now.wallMs - silentMs, monotonicMs: now.monotonicMs - silentMs };
    if (before === null) this.#deps.handlers?.onHost?.(this.#sightOf(entry), 'silent');
  }

  // --- both -----------------------------------------------------------------------------------------------------------

  /** Reads one stream until it ends, however it ends. Never rejects. */
  async #read(
    source: ReportSource,
    query: string,
    signal: AbortSignal,
    take: (frame: ReportFrame) => void,
  ): Promise<void> {
    let connecting = true;
    const connected = (): void => {
      if (connecting) this.#leaveConnect();
      connecting = false;
    };
    await this.#enterConnect();
    try {
      if (signal.aborted || this.#stop.signal.aborted) return;
      const stream = await this.#deps.http.stream({
        method: 'GET',
        url: `${source.url}/v1/reports${query}`,
        timeoutMs: CONNECT_TIMEOUT_MS,
        idleTimeoutMs: this.#silenceMs,
        signal,
      });
      if (stream.status !== 200) throw new SourceError(`${source.name} answered ${String(stream.status)}`);
      const parser = new NdjsonParser();
      for await (const chunk of stream.chunks) {
        if (signal.aborted) return;
        for (const value of parser.push(chunk)) {
          const frame = readReportFrame(value);
          if (frame === null) throw new SourceError(`${source.name} sent something that is no report`);
          take(frame);
          connected();
        }
      }
    } catch (error) {
      if (!signal.aborted) this.#deps.log.debug({ source: source.name, error }, 'report stream ended');
    } finally {
      connected();
    }
  }

  #merge(message: HostReport, inOrder: boolean): void {
    const now = this.#now();
    const entry = this.#index.expect(message.host, now);
    const before = entry.view.mark.incarnation;
    const wasSilent = entry.heard === null || entry.silentSince !== null;
    entry.heard = now;
    entry.silentSince = null;
    if (wasSilent) this.#awaited.delete(message.host);
    const news = this.#index.apply(message, now);
    if (inOrder) entry.view.settle();
    // Before what is said of the host: a relay says there how far the host has come, and whoever reads that takes nothing
    // older any more.
    if (news) this.#deps.handlers?.onMessage?.(message);
    if (before >= 0 && message.incarnation > before)
      this.#deps.handlers?.onHost?.(this.#sightOf(entry), 'restarted');
    else if (wasSilent) this.#deps.handlers?.onHost?.(this.#sightOf(entry), 'heard');
    if (wasSilent) this.#checkComplete();
  }

  /** Finds who has become silent; streams alone do not tell, since a lost host has none. */
  #look(): void {
    if (this.#stop.signal.aborted) return;
    if (this.#deps.options.mode === 'all') {
      const now = this.#deps.clock.monotonicMs();
      for (const entry of this.#index.entries()) {
        const last = entry.heard ?? entry.known;
        if (entry.silentSince !== null || now - last.monotonicMs <= this.#silenceMs) continue;
        entry.silentSince = last;
        this.#awaited.delete(entry.view.host);
        this.#deps.handlers?.onHost?.(this.#sightOf(entry), 'silent');
      }
    }
    this.#checkComplete();
    this.#cancelLook = this.#deps.clock.after(this.#silenceMs / 3, () => this.#look());
  }

  #checkComplete(): void {
    const complete = this.#isComplete();
    if (complete === this.#complete) return;
    this.#complete = complete;
    this.#deps.handlers?.onComplete?.(complete);
  }

  #isComplete(): boolean {
    if (!this.#started) return false;
    if (this.#deps.options.mode === 'any-one') return this.#sourceComplete;
    return this.#awaited.size === 0;
  }

  #staleSinceMs(entry: HostEntry): number | null {
    const now = this.#deps.clock.monotonicMs();
    if (entry.silentSince !== null) return entry.silentSince.wallMs;
    const last = this.#deps.options.mode === 'all' ? (entry.heard ?? entry.known) : this.#sourceHeard;
    return last !== null && now - last.monotonicMs > this.#silenceMs ? last.wallMs : null;
  }

  #asOfMs(entry: HostEntry): number | null {
    if (entry.heard === null) return null;
    if (this.#deps.options.mode === 'all') return entry.heard.wallMs;
    return entry.silentSince?.wallMs ?? this.#sourceHeard?.wallMs ?? entry.heard.wallMs;
  }

  #sightOf(entry: HostEntry): HostSight {
    return {
      host: entry.view.host,
      incarnation: entry.view.mark.incarnation,
      seq: entry.view.mark.seq,
      asOfMs: this.#asOfMs(entry),
      staleSinceMs: this.#staleSinceMs(entry),
      allocations: entry.view.size,
    };
  }

  #makeView(): CellView {
    const index = this.#index;
    const sightOf = (entry: HostEntry): HostSight => this.#sightOf(entry);
    const isComplete = (): boolean => this.#complete;
    return {
      get: (host, id) => index.get(host)?.view.get(id),
      allocation: (id) => index.allocation(id),
      on: (host) => index.get(host)?.view.reports() ?? [],
      host: (host) => {
        const entry = index.get(host);
        return entry === undefined ? undefined : sightOf(entry);
      },
      *hosts() {
        for (const entry of index.entries()) yield sightOf(entry);
      },
      get size() {
        return index.size;
      },
      get complete() {
        return isComplete();
      },
    };
  }

  #now(): Heard {
    return { wallMs: this.#deps.clock.nowMs(), monotonicMs: this.#deps.clock.monotonicMs() };
  }

  async #enterConnect(): Promise<void> {
    if (this.#connects < CONNECTS_MAX) this.#connects += 1;
    else await new Promise<void>((resolve) => this.#waitingToConnect.push(resolve));
  }

  #leaveConnect(): void {
    const next = this.#waitingToConnect.shift();
    if (next === undefined) this.#connects -= 1;
    else next();
  }
}
