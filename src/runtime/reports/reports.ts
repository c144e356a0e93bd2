/**
 * Follows what hosts report, and merges it into one view of the cell.
 *
 * - `reports.ts`: `ReportFollower`, which ties the rest together
 * - `beat-interval.ts`: how often hosts say that they are there, and after how long one counts as silent
 * - `stream-reader.ts`: opens report streams, a bounded number at once, and reads their frames
 * - `host-streams.ts`: one stream a host, for monitors; `host-share.ts`: which hosts are this monitor's share
 * - `peer-streams.ts`: what the other monitors hear of theirs
 * - `monitor-stream.ts`: one monitor's stream with all hosts in it, for schedulers and arbiters
 * - `monitor-reachability.ts`: when most hosts are silent to that monitor, so that another one is tried
 * - `merged-view.ts`: merges messages, and knows which hosts are reporting, silent or awaited
 * - `cell-view.ts`: the view itself, with its index by allocation and job
 * - `job-queries.ts`: asks the monitor for single jobs whose reports were not kept
 * - `changes-during-read.ts`: what changed while such an answer was on its way
 */
import type { HostReport } from '../../core/host/report.ts';
import type { Clock } from '../../ports/clock.ts';
import type { HttpClient } from '../../ports/http.ts';
import type { Random } from '../../ports/random.ts';
import type { Log } from '../../ports/telemetry.ts';
import type { PartFrame, ReportFrame } from '../../wire/api/report-frames.ts';
import { BeatInterval, SILENCE_MS } from './beat-interval.ts';
import type { CellView, Instant, ReportHandlers } from './cell-view.ts';
import { HostShare } from './host-share.ts';
import type { HostStreamsParts } from './host-streams.ts';
import { HostStreams } from './host-streams.ts';
import type { Upstream } from './merged-view.ts';
import { MergedView } from './merged-view.ts';
import { MonitorStream } from './monitor-stream.ts';
import { PeerStreams } from './peer-streams.ts';
import type { ReportSource } from './stream-reader.ts';
import { JobQueries } from './job-queries.ts';
import { ReportReader } from './stream-reader.ts';
import { atTick } from '../wait/wait.ts';

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
  /** A source or host without a message for this long counts as silent. Default: see `BeatInterval`. */
  readonly silenceMs?: number;
  /** Mode `all`: streams at once, so that files are left for callers. Default: no limit. */
  readonly streamsMax?: number | undefined;
  /** Called with the number of hosts beyond that limit when it changes. */
  onUnfollowed?(hosts: number): void;
  /** Mode `all`: the hosts are shared with the other monitors. Absent: all of them have a stream here. */
  readonly share?: Share;
  /** Mode `all`: called with each beat of a host that says what time it is there. @param aheadMs of this process's clock */
  onClock?(host: string, aheadMs: number): void;
}

export interface Share {
  /** Of this monitor. */
  readonly self: string;
  /** The other monitors. Asked again at every `refresh()`. */
  peers(): readonly ReportSource[];
}

/** How often it is looked at whether another monitor still hears of its hosts. */
const SHARE_CHECK_MS = 1_000;

/**
 * Follows report streams and keeps their merged view. Streams that end, are cut or fall silent are opened again with
 * backoff, from where they stood when the source can do so. A host that is not reporting stays in the view with its last
 * known allocations, marked stale (I51).
 */
export class ReportFollower {
  readonly #clock: Clock;
  readonly #mode: ReportFollowerOptions['mode'];
  readonly #beats: BeatInterval;
  readonly #merged: MergedView;
  readonly #upstream: Upstream | null;
  readonly #reader: ReportReader;
  readonly #streams: HostStreams | MonitorStream;
  readonly #peers: PeerStreams | null;
  readonly #questions: JobQueries;
  #state: 'new' | 'following' | 'closed' = 'new';
  #cancelCheck: () => void = () => undefined;
  /** It looks for silent hosts again and again. */
  #isChecking = false;

  constructor(deps: ReportFollowerDeps) {
    const { clock, random, options } = deps;
    this.#clock = clock;
    this.#mode = options.mode;
    this.#beats = new BeatInterval(options.silenceMs);
    this.#reader = new ReportReader(deps.http, deps.log, {
      silenceMs: this.#beats.silenceMs,
      to: options.mode === 'all' ? 'agent' : 'monitor',
    });
    const upstream: Upstream | null =
      options.mode === 'all' ? null : { heardAt: null, complete: false, hostSilenceMs: SILENCE_MS };
    this.#upstream = upstream;
    this.#peers = options.share === undefined ? null : this.#makePeers(deps, options.share);
    const handlers = deps.handlers ?? {};
    const relayedAt = (host: string): Instant | null => this.#peers?.heardAt(host) ?? null;
    const merged = new MergedView(clock, this.#beats, handlers, upstream, relayedAt);
    const parts = {
      ...{ clock, random, merged, reader: this.#reader, streamsMax: options.streamsMax },
      sources: () => deps.sources(),
      onUnfollowed: (hosts: number) => options.onUnfollowed?.(hosts),
      onClock: (host: string, aheadMs: number) => options.onClock?.(host, aheadMs),
    };
    this.#merged = merged;
    const ofHosts = { ...parts, handlers, beats: this.#beats, ...this.#sharing(options.share) };
    this.#streams = upstream === null ? new HostStreams(ofHosts) : new MonitorStream(parts, upstream);
    const streams = this.#streams;
    this.#questions = new JobQueries({
      ...{ clock, merged, reader: this.#reader },
      source: () => (streams instanceof MonitorStream ? streams.source : null),
    });
  }

  get view(): CellView {
    return this.#merged.view;
  }

  /** Name of the monitor whose stream is in use; null in mode `all`, and while there is none. */
  get source(): string | null {
    return this.#streams instanceof MonitorStream ? (this.#streams.source?.name ?? null) : null;
  }

  /** After how long without a message a host counts as silent, to those who follow hosts: never less than it was. */
  get hostSilenceMs(): number {
    if (this.#upstream !== null) return this.#upstream.hostSilenceMs;
    return Math.max(this.#beats.silenceMs, this.#peers?.hostSilenceMs ?? 0);
  }

  /** The merged messages of every host: what an empty view needs to become this one. */
  *messages(): IterableIterator<HostReport> {
    for (const entry of this.#merged.entries()) yield* entry.view.messages();
  }

  /** Mode `all`: of those hosts that say it to this process itself, and which do not though they are followed. */
  *directMessages(): IterableIterator<ReportFrame> {
    if (!(this.#streams instanceof HostStreams)) return;
    for (const host of this.#streams.heard()) yield* this.messagesOf(host);
    for (const host of this.#streams.missed()) yield { kind: 'silent', host, silentMs: 0 };
  }

  /** Mode `all`: how many hosts say something to this process itself. */
  get heardDirectly(): number {
    return this.#streams instanceof HostStreams ? [...this.#streams.heard()].length : 0;
  }

  messagesOf(host: string): readonly HostReport[] {
    return this.#merged.get(host)?.view.messages() ?? [];
  }

  /** What hosts report of the jobs: the answer to another process's `fetchJob`. */
  partsOf(jobKeys: readonly string[]): IterableIterator<PartFrame> {
    return this.#merged.partsOf(jobKeys);
  }

  /**
   * Mode `any-one`: brings into the view what the monitor in use knows of a job whose reports were not kept as they came.
   * @returns false: it did not answer, does not yet know every host, or its answer is older than what is known of a host
   */
  fetchJob(jobKey: string): Promise<boolean> {
    return this.#questions.ask(jobKey);
  }

  /** What hosts report of the job need not be kept any longer. */
  drop(jobKey: string): void {
    this.#merged.drop(jobKey);
  }

  refresh(): void {
    if (this.#state === 'closed') return;
    if (this.#state === 'new') {
      this.#state = 'following';
      this.#merged.start();
    }
    this.#peers?.refresh();
    this.#streams.refresh();
    // In mode `any-one` the monitor says which hosts are silent.
    if (this.#mode === 'all' && !this.#isChecking) this.#findSilent();
    this.#merged.checkComplete();
  }

  async close(): Promise<void> {
    this.#state = 'closed';
    this.#cancelCheck();
    this.#questions.close();
    this.#reader.close();
    await this.#peers?.close();
    await this.#streams.close();
  }

  #findSilent(): void {
    this.#merged.findSilent();
    if (this.#streams instanceof HostStreams) {
      this.#streams.findSilent();
      if (this.#peers !== null) this.#streams.share();
    }
    const everyMs = Math.min(this.#beats.ms, this.#peers === null ? Infinity : SHARE_CHECK_MS);
    // A scheduler follows no host itself while a monitor tells of all of them.
    this.#isChecking = this.#peers !== null || !this.#merged.isEmpty;
    if (this.#isChecking) this.#cancelCheck = atTick(this.#clock, everyMs, () => this.#findSilent());
  }

  /** How the streams of hosts are shared. */
  #sharing(
    share: Share | undefined,
  ): Pick<HostStreamsParts, 'follows' | 'isRelayed' | 'isBeingTold' | 'onForgotten'> {
    const peers = this.#peers;
    if (share === undefined || peers === null) return {};
    const own = new HostShare(share.self, this.#clock, peers);
    return {
      follows: (host, isFollowed) => own.follows(host, isFollowed),
      isRelayed: (host) => peers.hears(host),
      isBeingTold: () => peers.hasNew,
      onForgotten: (host) => {
        own.forget(host);
        peers.forget(host);
      },
    };
  }

  #makePeers({ http, clock, random, log, options }: ReportFollowerDeps, share: Share): PeerStreams {
    return new PeerStreams({
      ...{ clock, random, reader: new ReportReader(http, log, { silenceMs: SILENCE_MS, to: 'monitor' }) },
      merged: () => this.#merged,
      peers: () => share.peers(),
      onMissed: (host, silentMs) => {
        if (this.#streams instanceof HostStreams && !this.#streams.hears(host))
          this.#merged.unheardFor(host, silentMs);
      },
      onChange: () => {
        if (this.#state === 'following') this.#streams.refresh();
      },
      onClock: (host, aheadMs) => options.onClock?.(host, aheadMs),
    });
  }
}
