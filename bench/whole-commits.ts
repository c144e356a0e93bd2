import type { Allocation } from '../src/core/allocation.ts';
import { askOf } from '../src/core/ask.ts';
import { CellState } from '../src/core/cell-state.ts';
import type { Host } from '../src/core/host.ts';
import type { Group } from '../src/core/job.ts';
import type { CellKeys } from '../src/core/keys.ts';
import { LedgerBook } from '../src/core/ledger-book.ts';
import type { Plan } from '../src/core/plan.ts';
import { BINPACK, place } from '../src/core/placement.ts';
import { NO_SCALARS } from '../src/core/resources.ts';
import { seededRandom } from '../src/core/seeded-random.ts';
import type { CellStore } from '../src/ports/cell-store.ts';
import type { Clock } from '../src/ports/clock.ts';
import type { Random } from '../src/ports/random.ts';
import type { Log, Metrics } from '../src/ports/telemetry.ts';
import type { CommitterStats } from '../src/runtime/committer.ts';
import { Committer } from '../src/runtime/committer.ts';
import { LedgerFeed } from '../src/runtime/ledger-feed.ts';
import { createOnce } from '../src/runtime/read-back.ts';
import { ownerCodec } from '../src/wire/records.ts';

export interface WholeOptions {
  readonly store: CellStore;
  readonly keys: CellKeys;
  readonly hosts: number;
  readonly together: number;
  readonly inFlight: number;
  readonly seed: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
}

export interface WholePath {
  write(placements: number): Promise<void>;
  stats(): CommitterStats;
  close(): Promise<void>;
}

/** Plans open at once, in transactions: enough that the next is always ready. */
const OPEN_FACTOR = 2;

const EPOCH = { incarnation: '6b1e7a3c-0000-4000-8000-000000000000', counter: 0 };

const group: Group = {
  ...{ name: 'bench', count: 0, parallelism: null, gang: false, ports: {}, constraints: [], affinities: [] },
  ...{ spread: [], distinct: ['id'], deadlineMs: null, waitMaxMs: null },
  restart: { attempts: 0, windowMs: 0, delayMs: 0, on: 'never' },
  reschedule: { attempts: 0, delayMs: 0, delayMaxMs: 0, onHostLost: false },
  tasks: {
    bench: {
      ...{ name: 'bench', command: ['true'], env: {}, gpu: null, sidecar: false },
      resources: { cpuMilli: 10, memoryMib: 16, diskMib: 0, scalars: NO_SCALARS },
      stop: { signal: 'SIGTERM', graceMs: 0 },
    },
  },
};

/** One scheduler's way from a decision to a durable placement: place, assume, commit, settle, with the watch on. */
export async function makeWholePath(options: WholeOptions): Promise<WholePath> {
  const { store, keys, together, clock, random } = options;
  const state = new CellState();
  const book = new LedgerBook();
  for (let n = 0; n < options.hosts; n++) {
    const host = hostOf(n);
    state.setHost(host);
    state.setAlive(host.id, true);
  }
  const owned = await createOnce(
    { store, clock, random },
    {
      key: keys.owner('default', 'bench'),
      value: ownerCodec.encode({ scheduler: 'bench-1', kind: 'batch', sinceMs: clock.nowMs() }),
    },
  );
  if (!owned.created) throw new Error('the job of the benchmark has another owner');
  const ledgers = new LedgerFeed(store, keys, book, {
    onLedger: (host) => state.setLedger(host, book.get(host).ledger, book.get(host).revision),
  });
  await ledgers.ready;
  const committer = new Committer({
    ...{ store, keys, book, clock, random, log: options.log, metrics: options.metrics },
    hostOf: (id) => state.hostOf(id),
    ownerRevisionOf: () => owned.revision,
    onLedger: (host, ledger, revision) => state.setLedger(host, ledger, revision),
    options: { conflictCheck: 'resource-fit', inFlightMax: options.inFlight, rebasesMax: 8 },
  });
  const chance = seededRandom(options.seed);
  const ask = askOf(group);
  let made = 0;

  function decide(): Plan {
    const planId = `plan-${String(made).padStart(8, '0')}`;
    const request = { namespace: 'default', job: 'bench', group, ask, precedence: 50, count: together };
    const { chosen } = place(state, { ...request, hostsHeld: [], avoidHosts: [] }, chance, BINPACK);
    const places = chosen.map((one, index): Allocation => {
      const allocation: Allocation = {
        id: `alloc-${String((made += 1)).padStart(18, '0')}`,
        host: one.host,
        precedence: 50,
        resources: ask.resources,
        gpus: one.gpus,
        ports: one.ports,
        namespace: 'default',
        job: 'bench',
        jobVersion: 1,
        group: 'bench',
        index,
        attempt: 1,
        scheduler: 'bench-1',
        desired: 'run',
        planId,
        epoch: EPOCH,
        createdAtMs: 1_700_000_000_000,
      };
      state.assume(allocation);
      return allocation;
    });
    return { id: planId, atomicity: 'incremental', places, evictions: [], releases: [] };
  }

  async function commitOne(): Promise<void> {
    const plan = decide();
    const outcome = await committer.commit(plan);
    for (const [id, end] of outcome) {
      if (end.kind === 'conflicted')
        throw new Error(`a lone scheduler met a conflict: ${JSON.stringify(end.why)}`);
      state.settle(id);
    }
  }

  return {
    async write(placements) {
      let left = Math.ceil(placements / together);
      const lane = async (): Promise<void> => {
        while (left > 0) {
          left -= 1;
          await commitOne();
        }
      };
      await Promise.all(Array.from({ length: options.inFlight * OPEN_FACTOR }, lane));
    },
    stats: () => committer.stats,
    close: async () => {
      await committer.idle();
      ledgers.close();
    },
  };
}

function hostOf(n: number): Host {
  const id = `host-${String(n).padStart(6, '0')}`;
  return {
    ...{
      id,
      address: `http://${id}`,
      gpuModels: [],
      portRange: { first: 20_000, last: 32_000 },
      attributes: { id },
    },
    capacity: { cpuMilli: 64_000, memoryMib: 262_144, diskMib: 0, scalars: NO_SCALARS },
    reserved: { cpuMilli: 0, memoryMib: 0, diskMib: 0, scalars: NO_SCALARS },
    ...{ bootId: 'b', incarnation: 1, agentVersion: '0' },
  };
}
