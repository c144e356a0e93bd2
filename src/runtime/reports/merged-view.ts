import type { HostReport } from '../../core/host/report.ts';
import { isAfter, NO_MARK } from '../../core/host/merge.ts';
import type { Clock } from '../../ports/clock.ts';
import type { PartFrame } from '../../wire/api/report-frames.ts';
import type { CellView, Instant, HostEntry, HostFreshness, ReportHandlers } from './cell-view.ts';
import { ViewIndex } from './cell-view.ts';
import { ChangesDuringRead } from './changes-during-read.ts';

/** A monitor through which all hosts are heard. */
export interface Upstream {
  /** Its last word; null: none yet. */
  heardAt: Instant | null;
  /** What it said of its own view. */
  complete: boolean;
}

/** The view that reports are merged into, and who of it is heard, silent or awaited. */
export class MergedView {
  readonly #clock: Clock;
  readonly #silenceMs: number;
  readonly #handlers: ReportHandlers;
  readonly #relay: Upstream | null;
  readonly #index: ViewIndex;
  /** Hosts that have neither reported nor timed out. */
  readonly #awaited = new Set<string>();
  #started = false;
  #complete = false;
  #meanwhile: ChangesDuringRead | null = null;
  readonly view: CellView;

  /** @param relay null: every host speaks for itself */
  constructor(clock: Clock, silenceMs: number, handlers: ReportHandlers, relay: Upstream | null) {
    this.#clock = clock;
    this.#silenceMs = silenceMs;
    this.#handlers = handlers;
    this.#relay = relay;
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

  get(host: string): HostEntry | undefined {
    return this.#index.get(host);
  }

  /** From now on the view may be complete. */
  start(): void {
    this.#started = true;
  }

  /** The host is there, and will be heard. */
  expect(host: string): void {
    if (this.#index.get(host) === undefined) this.#awaited.add(host);
    this.#index.expect(host, this.now());
  }

  /** @param inOrder nothing before the message is missing, so that the host's stream can be resumed from it */
  merge(message: HostReport, inOrder: boolean): void {
    const now = this.now();
    const entry = this.#index.expect(message.host, now);
    const { mark } = entry.view;
    const before = mark.incarnation;
    this.#meanwhile?.note(message, mark);
    const wasSilent = entry.heardAt === null || entry.silentSince !== null;
    entry.heardAt = now;
    entry.silentSince = null;
    if (wasSilent) this.#awaited.delete(message.host);
    const news = this.#index.apply(message, now);
    if (inOrder) entry.view.settle();
    // Before what is said of the host: a relay says there how far the host has come, and whoever reads that takes nothing
    // older any more.
    if (news) this.#handlers.onMessage?.(message);
    if (before >= 0 && message.incarnation > before)
      this.#handlers.onHost?.(this.#sightOf(entry), 'restarted');
    else if (wasSilent) this.#handlers.onHost?.(this.#sightOf(entry), 'heard');
    if (wasSilent) this.checkComplete();
  }

  /** Somebody else is asked for what his view holds of some jobs; to be ended with `endLearning`. */
  beginRead(): void {
    this.#meanwhile = new ChangesDuringRead();
  }

  /**
   * Takes in what his view holds of one host.
   * @returns false: it is older than what is known of the host, ask again; true also where nobody waits for the host any more
   */
  addPart({ host, incarnation, seq, allocations }: PartFrame): boolean {
    const mark = { incarnation, seq };
    const newest = this.#index.get(host)?.view.mark ?? NO_MARK;
    if (this.#meanwhile?.hasLeft(host) === true) return true;
    if (isAfter(this.#meanwhile?.markBefore(host) ?? newest, mark))
      return this.#handlers.isLost?.(host) ?? false;
    const living = allocations.filter(({ id }) => this.#meanwhile?.isGone(id) !== true);
    this.#index.addPart(host, living, mark, this.now());
    return true;
  }

  endRead(): void {
    this.#meanwhile = null;
  }

  /** What hosts report of the job need not be kept any longer. */
  drop(jobKey: string): void {
    this.#index.drop(jobKey);
  }

  /** What hosts report of the jobs, as an answer for `learn`; nothing of hosts that have not told all they have. */
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
      // As they are now: whoever reads may have been slow, and the mark is of now.
      const allocations = ids.map((id) => view.get(id)).filter((report) => report !== undefined);
      yield { kind: 'part', host, ...view.settled, allocations };
    }
  }

  /** Somebody else has not heard the host for so long. */
  silent(host: string, silentMs: number): void {
    const now = this.now();
    const entry = this.#index.expect(host, now);
    const before = entry.silentSince;
    entry.silentSince = { wallMs: now.wallMs - silentMs, monotonicMs: now.monotonicMs - silentMs };
    if (before === null) this.#handlers.onHost?.(this.#sightOf(entry), 'silent');
  }

  /** The host is no longer registered. */
  forget(host: string): void {
    const entry = this.#index.get(host);
    if (entry === undefined) return;
    const sight = this.#sightOf(entry);
    this.#index.forget(host);
    this.#meanwhile?.noteLeft(host);
    this.#awaited.delete(host);
    this.#handlers.onHost?.(sight, 'left');
  }

  /** Where every host speaks for itself: finds those that have become silent; streams alone do not tell, since a lost host has none. */
  findSilent(): void {
    const now = this.#clock.monotonicMs();
    for (const entry of this.#index.entries()) {
      const last = entry.heardAt ?? entry.knownAt;
      if (entry.silentSince !== null || now - last.monotonicMs <= this.#silenceMs) continue;
      entry.silentSince = last;
      this.#awaited.delete(entry.view.host);
      this.#handlers.onHost?.(this.#sightOf(entry), 'silent');
    }
    this.checkComplete();
  }

  checkComplete(): void {
    const complete = this.#started && (this.#relay?.complete ?? this.#awaited.size === 0);
    if (complete === this.#complete) return;
    this.#complete = complete;
    this.#handlers.onComplete?.(complete);
  }

  now(): Instant {
    return { wallMs: this.#clock.nowMs(), monotonicMs: this.#clock.monotonicMs() };
  }

  #staleSinceMs(entry: HostEntry): number | null {
    if (entry.silentSince !== null) return entry.silentSince.wallMs;
    const last = this.#relay === null ? (entry.heardAt ?? entry.knownAt) : this.#relay.heardAt;
    const isStale = last !== null && this.#clock.monotonicMs() - last.monotonicMs > this.#silenceMs;
    return isStale ? last.wallMs : null;
  }

  #asOfMs(entry: HostEntry): number | null {
    if (entry.heardAt === null) return null;
    if (this.#relay === null) return entry.heardAt.wallMs;
    return entry.silentSince?.wallMs ?? this.#relay.heardAt?.wallMs ?? entry.heardAt.wallMs;
  }

  #sightOf(entry: HostEntry): HostFreshness {
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
    const sightOf = (entry: HostEntry): HostFreshness => this.#sightOf(entry);
    const isComplete = (): boolean => this.#complete;
    return {
      get: (host, id) => index.get(host)?.view.get(id),
      allocation: (id) => index.allocation(id),
      ofJob: (jobKey) => index.ofJob(jobKey),
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
}
