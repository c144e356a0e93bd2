import type { HostReport } from '../../core/host/report.ts';
import { isAfter, NO_MARK } from '../../core/host/merge.ts';
import type { Clock } from '../../ports/clock.ts';
import type { PartFrame } from '../../wire/api/report-frames.ts';
import type { BeatInterval } from './beat-interval.ts';
import type { CellView, Instant, HostEntry, HostFreshness, ReportHandlers } from './cell-view.ts';
import { ViewIndex } from './cell-view.ts';
import { ChangesDuringRead } from './changes-during-read.ts';

export interface Upstream {
  /** Its last frame; null: none yet. */
  heardAt: Instant | null;
  /** Whether its own view is complete. */
  complete: boolean;
  /** After how long without a message of a host it calls the host silent: the longest that one of them has told. */
  hostSilenceMs: number;
}

/** A stream to a host that another monitor has followed until now is given so long to be opened. */
const CONNECT_MS = 1_000;

/** The view that reports are merged into, and which of its hosts are reporting, silent or awaited. */
export class MergedView {
  readonly #clock: Clock;
  readonly #beats: BeatInterval;
  readonly #handlers: ReportHandlers;
  readonly #upstream: Upstream | null;
  readonly #relayed: (host: string) => Instant | null;
  readonly #index: ViewIndex;
  /** Hosts that have neither reported nor timed out. */
  readonly #awaited = new Set<string>();
  #started = false;
  #complete = false;
  #changes: ChangesDuringRead | null = null;
  readonly view: CellView;

  /**
   * @param beats how often its sources say something
   * @param upstream null: every host has a stream of its own
   * @param relayed when another monitor last vouched for the host; null: none does
   */
  constructor(
    clock: Clock,
    beats: BeatInterval,
    handlers: ReportHandlers,
    upstream: Upstream | null,
    relayed: (host: string) => Instant | null = () => null,
  ) {
    this.#relayed = relayed;
    this.#clock = clock;
    this.#beats = beats;
    this.#handlers = handlers;
    this.#upstream = upstream;
    this.#index = new ViewIndex({
      keeps: (report) => handlers.keeps?.(report) ?? true,
      onSet: (report, previous) => handlers.onReport?.(report, previous),
      onGone: (previous) => handlers.onGone?.(previous),
    });
    this.view = this.#makeView();
  }

  entries(): IterableIterator<HostEntry> {
    return this.#index.entries();
  }

  get isEmpty(): boolean {
    return this.#index.entries().next().done === true;
  }

  get(host: string): HostEntry | undefined {
    return this.#index.get(host);
  }

  /** From now on the view may be complete. */
  start(): void {
    this.#started = true;
  }

  /** The host is registered: its reports are awaited. */
  expect(host: string): void {
    if (this.#index.get(host) === undefined) this.#awaited.add(host);
    this.#index.expect(host, this.now());
  }

  /** From now on the host has a stream of its own. */
  followed(host: string): void {
    this.#index.expect(host, this.now()).followedAtMs = this.#clock.monotonicMs();
  }

  /** The host says something on a stream of its own. */
  opened(host: string): void {
    this.#index.expect(host, this.now()).isOpen = true;
  }

  /** That stream has ended. */
  cut(host: string): void {
    const entry = this.#index.get(host);
    if (entry === undefined || !entry.isOpen) return;
    entry.isOpen = false;
    entry.cutAtMs = this.#clock.monotonicMs();
  }

  /** @param inOrder nothing before the message is missing, so that the host's stream can be resumed from it */
  merge(message: HostReport, inOrder: boolean): void {
    const now = this.now();
    const entry = this.#index.expect(message.host, now);
    const { mark } = entry.view;
    const before = mark.incarnation;
    this.#changes?.note(message, mark);
    const wasSilent = entry.heardAt === null || entry.silentSince !== null;
    entry.heardAt = now;
    entry.silentSince = null;
    if (wasSilent) this.#awaited.delete(message.host);
    const isNew = this.#index.apply(message, now);
    if (inOrder) entry.view.settle(message);
    // Before `onHost`: a relay sends the host's mark there, and its readers ignore what is older than that mark.
    if (isNew) this.#handlers.onMessage?.(message);
    if (before >= 0 && message.incarnation > before)
      this.#handlers.onHost?.(this.#freshnessOf(entry), 'restarted');
    else if (wasSilent) this.#handlers.onHost?.(this.#freshnessOf(entry), 'reporting');
    if (wasSilent) this.checkComplete();
  }

  /** A monitor is asked for its part of the view; ended with `endRead`. */
  beginRead(): void {
    this.#changes = new ChangesDuringRead();
  }

  /**
   * Merges what the monitor's view has of one host.
   * @returns false: it is older than what is known of the host, ask again; true also for a host that is lost or removed
   */
  addPart({ host, incarnation, seq, allocations }: PartFrame): boolean {
    const mark = { incarnation, seq };
    const newest = this.#index.get(host)?.view.mark ?? NO_MARK;
    if (this.#changes?.hasLeft(host) === true) return true;
    if (isAfter(this.#changes?.markBefore(host) ?? newest, mark))
      return this.#handlers.isLost?.(host) ?? false;
    const living = allocations.filter(({ id }) => this.#changes?.isGone(id) !== true);
    this.#index.addPart(host, living, mark, this.now());
    return true;
  }

  endRead(): void {
    this.#changes = null;
  }

  /** What hosts report of the job need not be kept any longer. */
  drop(jobKey: string): void {
    this.#index.drop(jobKey);
  }

  /** What hosts report of the jobs, as parts for `addPart`; nothing of hosts without a full report. */
  *partsOf(jobKeys: readonly string[]): IterableIterator<PartFrame> {
    const byHost = new Map<string, string[]>();
    for (const key of jobKeys)
      for (const { host, id } of this.#index.ofJob(key)) {
        const ids = byHost.get(host);
        if (ids === undefined) byHost.set(host, [id]);
        else ids.push(id);
      }
    for (const [host, ids] of byHost) {
      const view = this.#index.get(host)?.view;
      if (view === undefined || view.settled === NO_MARK) continue;
      // As they are now: the reader may be slow, and the mark is the present one.
      const allocations = ids.map((id) => view.get(id)).filter((report) => report !== undefined);
      yield { kind: 'part', host, ...view.settled, allocations };
    }
  }

  /** The monitor has had no message of the host for so long. */
  silent(host: string, silentMs: number): void {
    const now = this.now();
    const entry = this.#index.expect(host, now);
    const before = entry.silentSince;
    entry.silentSince = { wallMs: now.wallMs - silentMs, monotonicMs: now.monotonicMs - silentMs };
    if (before === null) this.#handlers.onHost?.(this.#freshnessOf(entry), 'silent');
  }

  forget(host: string): void {
    const entry = this.#index.get(host);
    if (entry === undefined) return;
    const freshness = this.#freshnessOf(entry);
    this.#index.forget(host);
    this.#changes?.noteLeft(host);
    this.#awaited.delete(host);
    this.#handlers.onHost?.(freshness, 'left');
  }

  /** Without an upstream: finds hosts that became silent. Streams alone do not show it, since a lost host has none. */
  findSilent(): void {
    for (const entry of this.#index.entries()) {
      const relayedAt = this.#relayed(entry.view.host);
      if (relayedAt !== null && relayedAt.monotonicMs > (entry.heardAt?.monotonicMs ?? 0))
        entry.heardAt = relayedAt;
      this.#checkSilent(entry);
    }
    this.checkComplete();
  }

  /** When the host counts as silent if it has said nothing since, by the monotonic clock. */
  silentAtMs(host: string, heardAtMs: number): number {
    const entry = this.#index.get(host);
    return entry === undefined ? heardAtMs : this.#dueMs(entry, heardAtMs);
  }

  /** Without an upstream: whoever vouched for the host has heard nothing of it for so long, nor has anybody else. */
  unheardFor(host: string, silentMs: number): void {
    const entry = this.#index.get(host);
    if (entry?.heardAt == null) return;
    const { wallMs, monotonicMs } = this.now();
    if (monotonicMs - silentMs < entry.heardAt.monotonicMs)
      entry.heardAt = { wallMs: wallMs - silentMs, monotonicMs: monotonicMs - silentMs };
    this.#checkSilent(entry);
  }

  #checkSilent(entry: HostEntry): void {
    const last = entry.heardAt ?? entry.knownAt;
    const dueMs = Math.max(this.#dueMs(entry, last.monotonicMs), entry.followedAtMs + CONNECT_MS);
    if (entry.silentSince !== null || this.#clock.monotonicMs() <= dueMs) return;
    entry.silentSince = last;
    this.#awaited.delete(entry.view.host);
    this.#handlers.onHost?.(this.#freshnessOf(entry), 'silent');
  }

  checkComplete(): void {
    const complete = this.#started && (this.#upstream?.complete ?? this.#awaited.size === 0);
    if (complete === this.#complete) return;
    this.#complete = complete;
    this.#handlers.onComplete?.(complete);
  }

  now(): Instant {
    return { wallMs: this.#clock.nowMs(), monotonicMs: this.#clock.monotonicMs() };
  }

  #staleSinceMs(entry: HostEntry): number | null {
    if (entry.silentSince !== null) return entry.silentSince.wallMs;
    const last = this.#upstream === null ? (entry.heardAt ?? entry.knownAt) : this.#upstream.heardAt;
    const isStale = last !== null && this.#clock.monotonicMs() > this.#dueMs(entry, last.monotonicMs);
    return isStale ? last.wallMs : null;
  }

  #dueMs({ isOpen, cutAtMs }: HostEntry, heardAtMs: number): number {
    return this.#beats.silentAtMs({ heardAtMs, isOpen, cutAtMs });
  }

  #asOfMs(entry: HostEntry): number | null {
    if (entry.heardAt === null) return null;
    if (this.#upstream === null) return entry.heardAt.wallMs;
    return entry.silentSince?.wallMs ?? this.#upstream.heardAt?.wallMs ?? entry.heardAt.wallMs;
  }

  #freshnessOf(entry: HostEntry): HostFreshness {
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
    const freshnessOf = (entry: HostEntry): HostFreshness => this.#freshnessOf(entry);
    const isComplete = (): boolean => this.#complete;
    return {
      get: (host, id) => index.get(host)?.view.get(id),
      allocation: (id) => index.allocation(id),
      ofJob: (jobKey) => index.ofJob(jobKey),
      on: (host) => index.get(host)?.view.reports() ?? [],
      host: (host) => {
        const entry = index.get(host);
        return entry === undefined ? undefined : freshnessOf(entry);
      },
      *hosts() {
        for (const entry of index.entries()) yield freshnessOf(entry);
      },
      get size() {
        return index.size;
      },
      get complete() {
        return isComplete();
      },
    };
  }
}
