/**
 * A scheduler: it works on the jobs that it owns, decides in its private copy of the cell which host each task gets, commits
 * the decisions to the store by compare-and-swap, and orders the hosts to start what is committed. All schedulers do so in
 * parallel; only commits decide between them (Omega).
 *
 * A job's way through the rooms, in this order:
 *
 * - `ownership/`: which jobs this scheduler works on; how it claims them and takes up what the store holds of them.
 * - `decide/`: which host each task gets; the decision queue, and jobs that fit nowhere.
 * - `plan/`: what would be decided if something changed, on a copy.
 * - `preemption/`: which running tasks of lower precedence make room for slots that fit nowhere.
 * - `gangs/`: groups that are placed together or not at all.
 * - `commit/`: tickets, then what one commit contains, and what follows when it is refused; the release of claims.
 * - `hosts/`: orders to start and stop, and the hosts' reports.
 * - `repair/`: what is found without a message: missed reports, allocations without a record after a restore.
 *
 * Below them:
 *
 * - `state/`: what the rooms share: the private copy of the cell, owned jobs and their allocations.
 * - `calls/`: all calls to hosts, bounded.
 * - `policies/`: one file for each kind of scheduler, and the options. A new kind is added there.
 * - `warmup/`: compiles the code before the first job comes.
 *
 * In this folder: `main.ts` starts the process, `index.ts` is what programs import that bring a policy of their own, `api.ts` is
 * the HTTP API, `term.ts` joins the rooms for one session with the store, and `uuid.ts` makes the cell's first incarnation.
 */
import type { RoleRecord } from '../src/core/cell/cell.ts';
import type { HttpListener, HttpServer, ListenOptions } from '../src/ports/http.ts';
import type { Session } from '../src/ports/cell-store.ts';
import { StoreError } from '../src/ports/cell-store.ts';
import { Backoff } from '../src/runtime/wait/backoff.ts';
import { Outage } from '../src/runtime/wait/outage.ts';
import { openMeta, watchIncarnation } from '../src/runtime/records/cell-meta.ts';
import { sleep } from '../src/runtime/wait/wait.ts';
import { roleCodec } from '../src/wire/records/records.ts';
import type { SchedulerEvent, SchedulerStatus } from '../src/wire/api/scheduler-api.ts';
import { schedulerRoutes } from './api.ts';
import type { SchedulerWorld } from './state/state.ts';
import { SchedulerEvents } from './state/events.ts';
import type { SchedulerOptions } from './policies/options.ts';
import { policyText } from './policies/options.ts';
import { SchedulerStats } from './state/stats.ts';
import { SchedulerTerm } from './term.ts';
import { uuidOf } from './uuid.ts';
import { whyOf } from './decide/why.ts';

/** Between two terms, when a session was lost or could not be opened. */
const TERM_RETRY = { firstMs: 200, maxMs: 5_000 };

/** One term after the other, each under its own session. A lost session ends its term at once; the next one starts over. */
export class Scheduler {
  readonly options: SchedulerOptions;
  readonly #world: SchedulerWorld;
  readonly #stats = new SchedulerStats();
  readonly #events: SchedulerEvents;
  readonly #stop = new AbortController();
  readonly #startedAtMs: number;
  readonly #startedMonotonicMs: number;
  #term: SchedulerTerm | null = null;
  #listener: HttpListener | null = null;
  #unknownResolvedBefore = 0;
  #ended: Promise<void> = Promise.resolve();

  constructor(world: SchedulerWorld, options: SchedulerOptions) {
    this.#world = world;
    this.options = options;
    this.#events = new SchedulerEvents(options.id, world.clock);
    this.#startedAtMs = Math.floor(world.clock.nowMs());
    this.#startedMonotonicMs = world.clock.monotonicMs();
  }

  /** Serves the API and begins to work. @returns the API's base URL */
  async start(server: HttpServer, listen: ListenOptions): Promise<string> {
    const routes = schedulerRoutes(
      {
        status: () => this.status(),
        why: (namespace, job) => {
          const owned = this.#term?.jobs.get(`${namespace}/${job}`);
          return owned === undefined || this.#term === null ? undefined : whyOf(this.#term, owned);
        },
        plan: (request) => this.#term?.plan(request) ?? Promise.resolve(null),
        events: (signal, unseen) => this.#events.subscribe(signal, unseen),
        isReady: () => this.#term?.ready ?? false,
        measure: () => this.measure(),
      },
      this.#world.metrics,
    );
    this.#listener = await server.listen(routes, listen);
    this.#ended = this.#work(this.#listener.address);
    return this.#listener.address;
  }

  /** Resolves when it has stopped; rejects when it cannot continue, such as on a cell of another schema. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /** Ends its session, so that other schedulers can claim its jobs at once (I67). */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#events.close();
    await this.#listener?.close(STOP_GRACE_MS);
    await this.#ended;
  }

  /** The kept events, then new ones as they happen, until the signal is aborted. */
  events(signal: AbortSignal): AsyncIterable<SchedulerEvent> {
    return this.#events.subscribe(signal);
  }

  /** It is not ready, or jobs wait to be claimed, read, decided or committed. */
  get isBusy(): boolean {
    return this.#term?.isBusy ?? true;
  }

  get committed(): number {
    return this.#stats.committed;
  }

  status(): SchedulerStatus {
    const stats = this.#stats;
    const sinceMs = Math.max(1, this.#world.clock.monotonicMs() - this.#startedMonotonicMs);
    const committer = this.#term?.committer.stats;
    return {
      id: this.options.id,
      kind: this.options.kind,
      policy: this.options.placement.name,
      jobsOwned: this.#term?.jobs.size ?? 0,
      pending: this.#term?.jobs.pending ?? 0,
      decisions: stats.decisions,
      committed: stats.committed,
      rebased: stats.rebased,
      conflicted: stats.conflicted,
      unknownResolved: this.#unknownResolvedBefore + (committer?.unknownResolved ?? 0),
      ticketsRefused: stats.ticketsRefused,
      startsRefused: stats.startsRefused,
      busyFraction: Math.min(1, stats.busyMs / sinceMs),
      commitP50Ms: stats.commitMs(0.5),
      commitP99Ms: stats.commitMs(0.99),
      storeTrouble: this.#term?.committer.storeTrouble ?? null,
    };
  }

  /** What a scrape reads. */
  measure(): void {
    const { metrics, clock } = this.#world;
    const stats = this.#stats;
    const jobs = this.#term?.jobs;
    const sinceMs = jobs?.pendingSinceMs ?? null;
    metrics.gauge('moorage_scheduler_jobs', jobs?.size ?? 0);
    metrics.gauge('moorage_scheduler_pending_allocations', jobs?.pending ?? 0);
    metrics.gauge(
      'moorage_scheduler_longest_wait_seconds',
      sinceMs === null ? 0 : (clock.monotonicMs() - sinceMs) / 1_000,
    );
    metrics.gauge('moorage_scheduler_commits_waiting', this.#term?.committer.storeTrouble == null ? 0 : 1);
    metrics.total('moorage_scheduler_decisions_total', stats.decisions);
    for (const outcome of ['committed', 'rebased', 'conflicted'] as const)
      metrics.total('moorage_scheduler_claims_total', stats[outcome], { outcome });
    metrics.total('moorage_scheduler_busy_seconds_total', stats.busyMs / 1_000);
    metrics.total('moorage_scheduler_tickets_refused_total', stats.ticketsRefused);
    metrics.total('moorage_scheduler_starts_refused_total', stats.startsRefused);
  }

  async #work(address: string): Promise<void> {
    const { clock, random, log } = this.#world;
    const backoff = new Backoff(TERM_RETRY, random);
    const outage = new Outage({ clock, log }, 'a term cannot begin');
    while (!this.#stop.signal.aborted) {
      let failure: StoreError | null = null;
      try {
        await this.#serveTerm(address, () => {
          backoff.reset();
          outage.over();
        });
      } catch (error) {
        if (!(error instanceof StoreError) || !error.retryable) throw error;
        failure = error;
      }
      const delayMs = backoff.nextMs();
      if (failure !== null) outage.failed(failure, delayMs);
      await sleep(clock, delayMs, this.#stop.signal);
    }
  }

  async #serveTerm(address: string, onBegun: () => void): Promise<void> {
    const { store, keys, clock, random, log } = this.#world;
    const meta = await openMeta(store, keys, {
      nowMs: Math.floor(clock.nowMs()),
      makeUuid: () => uuidOf(random.bytes(16)),
    });
    const session = await store.openSession({ ttlMs: this.options.sessionTtlMs });
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, session.lost, this.#stop.signal]);
    const unwatch = watchIncarnation(store, keys, meta.incarnation, () => over.abort());
    const term = new SchedulerTerm({
      ...{ world: this.#world, options: this.options, session, signal },
      ...{ meta, stats: this.#stats, events: this.#events },
    });
    this.#term = term;
    try {
      await this.#register(session, address);
      onBegun();
      await term.run();
      if (!this.#stop.signal.aborted)
        log.warn({}, 'the session is lost or the cell renewed: starting over from the store');
    } finally {
      over.abort();
      unwatch();
      this.#unknownResolvedBefore += term.committer.stats.unknownResolved;
      this.#term = null;
      await term.close();
      await session.close();
    }
  }

  /** Overwrites the record of an earlier process of the same id; safety depends on owner keys, never on this one. */
  async #register(session: Session, address: string): Promise<void> {
    const { store, keys } = this.#world;
    const record: RoleRecord = {
      kind: 'scheduler',
      id: this.options.id,
      address,
      version: this.options.version,
      policy: policyText(this.options),
      startedAtMs: this.#startedAtMs,
    };
    const key = keys.role('scheduler', this.options.id);
    const reply = await store.attempt({
      compares: [],
      writes: [{ kind: 'put', key, value: roleCodec.encode(record), session }],
      readBack: [],
    });
    if (reply.outcome === 'unknown')
      throw new StoreError('timeout', 'the registration was not answered', {
        retryable: true,
        cause: reply.cause,
      });
  }
}

/** Event streams and slow readers of the API get this long before they are cut. */
const STOP_GRACE_MS = 1_000;
