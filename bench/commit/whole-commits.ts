import type { Allocation } from '../../src/core/cell/allocation.ts';
import { askOf } from '../../src/core/cell/ask.ts';
import { CellState } from '../../src/core/cell-state/cell-state.ts';
import type { Host } from '../../src/core/host/host.ts';
import type { KnownHost } from '../../src/core/cell-state/host-slot.ts';
import type { Group } from '../../src/core/cell/job.ts';
import { LedgerBook } from '../../src/core/commit/ledger-book.ts';
import type { Plan } from '../../src/core/commit/plan.ts';
import { BINPACK } from '../../src/core/scoring/policy.ts';
import { place } from '../../src/core/placement/placement.ts';
import type { Resources } from '../../src/core/cell/resources.ts';
import { NO_SCALARS } from '../../src/core/cell/resources.ts';
import { seededRandom } from '../../src/core/random/random.ts';
import type { Partition } from '../../schedulers/state/state.ts';
import { chanceInPartition } from '../../schedulers/decide/partition.ts';
import type { CellStore } from '../../src/ports/cell-store.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Random } from '../../src/ports/random.ts';
import type { Log, Metrics } from '../../src/ports/telemetry.ts';
import type { CommitterStats } from '../../src/runtime/commit/tally.ts';
import { Committer } from '../../src/runtime/commit/commit.ts';
import { LedgerFeed, readerOf } from '../../src/runtime/records/ledger-feed.ts';
import { PoolFeed } from '../../src/runtime/records/pool-feed.ts';
import { ownerCodec } from '../../src/wire/records/records.ts';
import { makeGroup } from '../testbed/plain-request.ts';
import type { WriterOptions } from './raw-commits.ts';

export interface WholeOptions extends WriterOptions {
  readonly store: CellStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Names the scheduler, its job and its allocations; schedulers on one cell need different ones. */
  readonly name?: string;
  /** What each task asks for; the smallest that a host can count when absent. */
  readonly resources?: Resources;
  /** What each takes of a pool that all hosts share, which is defined already. */
  readonly shared?: Readonly<Record<string, number>>;
  /** Which part of the hosts this one of several schedulers draws from first. */
  readonly part?: Partition;
  /** Called at each plan's end; without it a conflict is an error. */
  readonly onPlan?: (end: PlanEnd) => void;
}

/** How one plan ended: allocation ids by outcome. */
export interface PlanEnd {
  readonly committed: readonly string[];
  readonly rebased: readonly string[];
  readonly conflicted: readonly string[];
  readonly durationMs: number;
}

export interface WholePath {
  write(placements: number): Promise<void>;
  /** Commits until it is enough, then waits for what is under way. */
  writeUntil(isEnough: () => boolean): Promise<void>;
  stats(): CommitterStats;
  close(): Promise<void>;
}

/** Plans open at once at the most, in those that may be under way: enough that the next is always ready. */
const OPEN_FACTOR = 2;

const EPOCH = { incarnation: '6b1e7a3c-0000-4000-8000-000000000000', counter: 0 };

const SMALLEST: Resources = { cpuMilli: 10, memoryMib: 16, diskMib: 0, scalars: NO_SCALARS };

const groupOf = (resources: Resources, shared: WholeOptions['shared']): Group => {
  const sharing = shared === undefined ? {} : { shared };
  const stop = { signal: 'SIGTERM', graceMs: 0 } as const;
  const task = { command: ['true'], env: {}, resources, gpu: null, sidecar: false, stop, ...sharing };
  return makeGroup({
    name: 'bench',
    count: 0,
    distinct: ['id'],
    tasks: { bench: { name: 'bench', ...task } },
  });
};

/** One scheduler's way from a decision to a durable placement: place, assume, commit, settle, with the watch on. */
export async function makeWholePath(options: WholeOptions): Promise<WholePath> {
  const { store, keys, together, clock, random } = options;
  const name = options.name ?? 'bench';
  const scheduler = `${name}-1`;
  const group = groupOf(options.resources ?? SMALLEST, options.shared);
  const state = new CellState((host) => {
    const { ledger, revision } = book.get(host);
    state.setLedger(host, ledger, revision);
  });
  const book = new LedgerBook(readerOf(keys));
  for (let n = 0; n < options.hosts; n++) {
    const host = hostOf(n);
    state.setHost(host);
    state.setAlive(host.id, true);
  }
  const owner = { scheduler, kind: 'batch', sinceMs: clock.nowMs() } as const;
  const ownerKey = keys.owner('default', name);
  const owned = await store.attempt({
    compares: [{ key: ownerKey, target: 'createRevision', equals: 0 }],
    writes: [{ kind: 'put', key: ownerKey, value: ownerCodec.encode(owner) }],
    readBack: [],
  });
  if (owned.outcome !== 'applied') throw new Error('the job of the benchmark has another owner');
  const ledgers = new LedgerFeed(store, keys, book, {
    onUnread: (host) => state.setUnread(host),
    onLedger: (host) => {
      const { ledger, revision } = book.get(host);
      state.setLedger(host, ledger, revision);
    },
  });
  const noSharing = { onCapacityFreed: () => undefined, onBadRecord: () => undefined };
  const pools = options.shared === undefined ? null : new PoolFeed(store, keys, state.pools, noSharing);
  await Promise.all([ledgers.ready, pools?.ready]);
  const committer = new Committer({
    ...{ store, keys, book, clock, random, log: options.log, metrics: options.metrics },
    hostOf: (id) => state.hostOf(id),
    ownerRevisionOf: () => owned.revision,
    pools: state.pools,
    onLedger: (host, ledger, revision) => state.setLedger(host, ledger, revision),
    options: { conflictCheck: 'resource-fit', inFlightMax: options.inFlight, rebasesMax: 8 },
  });
  const { part } = options;
  const drawn = seededRandom(options.seed);
  const chance = part === undefined ? drawn : chanceInPartition(drawn, () => part);
  const ask = askOf(group);
  let made = 0;

  function decide(): { readonly plan: Plan; readonly known: readonly (KnownHost | undefined)[] } {
    const planId = `${name}-plan-${String(made).padStart(8, '0')}`;
    const request = { namespace: 'default', job: name, group, ask, precedence: 50, count: together };
    const { chosen } = place(
      state,
      { ...request, hostsHeld: [], avoidHosts: [], refusingHosts: [] },
      chance,
      BINPACK,
    );
    const places = chosen.map((one): Allocation => {
      const host = ask.shared === undefined ? undefined : state.hostOf(one.host);
      const allocation: Allocation = {
        id: `${name === 'bench' ? 'alloc' : name}-${String((made += 1)).padStart(18, '0')}`,
        host: one.host,
        precedence: 50,
        resources: ask.resources,
        gpus: one.gpus,
        ports: one.ports,
        namespace: 'default',
        job: name,
        jobVersion: 1,
        group: 'bench',
        index: made - 1,
        attempt: 1,
        scheduler,
        desired: 'run',
        planId,
        epoch: EPOCH,
        createdAtMs: 1_700_000_000_000,
        ...(host === undefined ? null : { shared: state.pools.useOn(host, ask.shared ?? {}) }),
      };
      state.assume(allocation, one.known);
      return allocation;
    });
    const known = chosen.map((one) => one.known);
    return { plan: { id: planId, atomicity: 'incremental', places, evictions: [], releases: [] }, known };
  }

  async function commitOne(): Promise<void> {
    const { plan, known } = decide();
    const startedMs = clock.monotonicMs();
    const outcome = await committer.commit(plan);
    const end = { committed: [] as string[], rebased: [] as string[], conflicted: [] as string[] };
    for (const [n, place] of plan.places.entries()) {
      const { kind } = outcome.get(place.id) ?? never();
      end[kind].push(place.id);
      state.forget(place, known[n]);
    }
    if (options.onPlan === undefined && end.conflicted.length > 0)
      throw new Error(`a lone scheduler met ${String(end.conflicted.length)} conflicts`);
    options.onPlan?.({ ...end, durationMs: clock.monotonicMs() - startedMs });
  }

  /** Plans that may be open: what the store takes at once, and what is made ready meanwhile. */
  function openMax(): number {
    const plans = Math.max(OPEN_FACTOR, committer.placementsMax / together);
    return Math.min(options.inFlight * OPEN_FACTOR, plans);
  }

  function commitWhile(isWanted: () => boolean): Promise<void> {
    let open = 0;
    return new Promise((resolve, reject) => {
      const next = (): void => {
        while (open < openMax() && isWanted()) {
          open += 1;
          commitOne().then(() => {
            open -= 1;
            next();
          }, reject);
        }
        if (open === 0) resolve();
      };
      next();
    });
  }

  return {
    write: (placements) => {
      let left = Math.ceil(placements / together);
      return commitWhile(() => left-- > 0);
    },
    writeUntil: (isEnough) => commitWhile(() => !isEnough()),
    stats: () => committer.stats,
    close: async () => {
      await committer.idle();
      ledgers.close();
      pools?.close();
    },
  };
}

/**
 * The n-th host of the benchmark's cell: 64 CPUs and 256 GiB. One plain literal, as quick to read as the records that a
 * scheduler gets from the store: made of parts spread into it, its fields took the engine's slow path each time.
 */
export function hostOf(n: number): Host {
  const id = `host-${String(n).padStart(6, '0')}`;
  return {
    id,
    address: `http://${id}`,
    gpuModels: [],
    portRange: { first: 20_000, last: 32_000 },
    attributes: { id },
    capacity: { cpuMilli: 64_000, memoryMib: 262_144, diskMib: 0, scalars: NO_SCALARS },
    reserved: { cpuMilli: 0, memoryMib: 0, diskMib: 0, scalars: NO_SCALARS },
    bootId: 'b',
    incarnation: 1,
    agentVersion: '0',
  };
}

function never(): never {
  throw new Error("a plan's outcome leaves out one of its places");
}
