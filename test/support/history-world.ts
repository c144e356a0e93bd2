import { MemoryCell } from '../../src/adapters/memory/cell.ts';
import { MemoryCellStore } from '../../src/adapters/memory/memory.ts';
import { silentLog, silentMetrics } from '../../src/adapters/telemetry/silent.ts';
import type { Allocation, Outcome } from '../../src/core/cell/allocation.ts';
import type { Host } from '../../src/core/host/host.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import { EMPTY_LEDGER, withClaim } from '../../src/core/fit/ledger.ts';
import { LedgerBook } from '../../src/core/commit/ledger-book.ts';
import type { Plan, PlanOutcome } from '../../src/core/commit/plan.ts';
import type { SeededRandom } from '../../src/core/random/random.ts';
import { NO_SCALARS } from '../../src/core/cell/resources.ts';
import { Committer } from '../../src/runtime/commit/commit.ts';
import { allocationCodec, hostCodec, ledgerCodec, ownerCodec } from '../../src/wire/records/records.ts';
import { ManualClock } from './manual-clock.ts';

export const KEYS = cellKeys('test');
export const CELL_INCARNATION = '6e0e2a3e-8a30-4d2c-9c6a-0d8f7a0a4c11';

export function someHost(id: string): Host {
  return {
    id,
    address: `http://${id}`,
    capacity: { cpuMilli: 4_200, memoryMib: 8_192, diskMib: 0, scalars: { licence: 3 } },
    reserved: { cpuMilli: 200, memoryMib: 0, diskMib: 0, scalars: NO_SCALARS },
    gpuModels: ['a', 'a'],
    portRange: { first: 20_000, last: 20_100 },
    attributes: {},
    bootId: 'b',
    incarnation: 1,
    agentVersion: '0.1.0',
  };
}

/** What an allocation may ask for by name: a licence, or to be apart from others. */
const SCALARS = [
  { licence: 1 },
  { licence: 1 },
  { 'class.a': 1 },
  { 'avoid.a': 1 },
  { 'class.b': 1, 'avoid.b': 1 },
];

/** Real commits on a store in memory, by competing schedulers that see each other's ledgers only when they collide. */
export class HistoryWorld {
  readonly clock = new ManualClock();
  readonly cell = new MemoryCell({ clock: this.clock });
  readonly store = new MemoryCellStore({ clock: this.clock, cell: this.cell });
  readonly #random: SeededRandom;
  readonly #hosts: readonly Host[];
  readonly #owners = new Map<string, number>();
  #made = 0;

  constructor(random: SeededRandom, hosts = 4) {
    this.#random = random;
    this.#hosts = Array.from({ length: hosts }, (_, n) => someHost(`host-${String(n)}`));
  }

  async put(key: string, value: string): Promise<number> {
    const reply = await this.store.attempt({
      compares: [],
      writes: [{ kind: 'put', key, value }],
      readBack: [],
    });
    return reply.outcome === 'applied' ? reply.revision : 0;
  }

  async begin(jobs: readonly (readonly [job: string, scheduler: string])[]): Promise<void> {
    for (const host of this.#hosts) await this.put(KEYS.host(host.id), hostCodec.encode(host));
    for (const [job, scheduler] of jobs) {
      const owner = ownerCodec.encode({ scheduler, kind: 'service', sinceMs: 0 });
      this.#owners.set(`default/${job}`, await this.put(KEYS.owner('default', job), owner));
    }
  }

  committer(): Committer {
    return new Committer({
      store: this.store,
      keys: KEYS,
      book: new LedgerBook(),
      hostOf: (id) => this.#hosts.find((host) => host.id === id),
      ownerRevisionOf: (namespace, job) => this.#owners.get(`${namespace}/${job}`),
      clock: this.clock,
      random: this.#random.split('committer'),
      log: silentLog,
      metrics: silentMetrics,
      options: { conflictCheck: 'resource-fit', inFlightMax: 4, rebasesMax: 8 },
    });
  }

  allocation(job: string, scheduler: string, index: number, changes: Partial<Allocation> = {}): Allocation {
    this.#made += 1;
    const random = this.#random;
    const id = `a${String(this.#made).padStart(6, '0')}`;
    return {
      id,
      host: `host-${String(random.below(this.#hosts.length))}`,
      precedence: [30, 50, 90][random.below(3)] ?? 50,
      resources: {
        cpuMilli: 100 * (1 + random.below(9)),
        memoryMib: 64 * random.below(9),
        diskMib: 0,
        scalars: SCALARS[random.below(8)] ?? NO_SCALARS,
      },
      gpus: random.below(4) === 0 ? [{ device: random.below(2), milli: 250 * (1 + random.below(4)) }] : [],
      ports: random.below(3) === 0 ? { http: 20_000 + random.below(30) } : {},
      namespace: 'default',
      job,
      jobVersion: 1,
      group: 'web',
      index,
      attempt: 1,
      scheduler,
      desired: 'run',
      planId: `p${String(this.#made)}`,
      epoch: { incarnation: CELL_INCARNATION, counter: 0 },
      createdAtMs: 0,
      ...changes,
    };
  }

  /** Some decisions of one scheduler for one job: places, evictions and releases, as the cell then stands. */
  async plan(job: string, scheduler: string, index: () => number): Promise<Plan> {
    const random = this.#random;
    const there = [...(await this.store.list(KEYS.allocations)).entries.values()].map((entry) => ({
      allocation: allocationCodec.decode(entry.value),
      revision: entry.modRevision,
    }));
    const own = there.filter(({ allocation }) => allocation.job === job);
    const places = Array.from({ length: 1 + random.below(4) }, () =>
      this.allocation(job, scheduler, index()),
    );
    const releases = own
      .filter(() => random.below(3) === 0)
      .map(({ allocation, revision }) => ({ allocation, revision, outcome: outcomeOf(allocation) }));
    const victim = there.find(
      ({ allocation }) => allocation.desired === 'run' && allocation.job !== job && random.below(4) === 0,
    );
    const evictions =
      victim === undefined
        ? []
        : [{ victim: victim.allocation, victimRevision: victim.revision, cause: 'for a test' }];
    const taking =
      victim === undefined
        ? []
        : [this.allocation(job, scheduler, index(), { host: victim.allocation.host })];
    const atomicity = random.below(4) === 0 ? 'all-or-nothing' : 'incremental';
    return {
      id: `plan-${String(this.#made)}`,
      atomicity,
      places: [...places, ...taking],
      evictions,
      releases,
    };
  }

  /** @returns how the random plans of the given number of rounds ended */
  async run(rounds: number): Promise<PlanOutcome[]> {
    await this.begin([
      ['web', 'service-1'],
      ['crunch', 'batch-1'],
    ]);
    const jobs = [
      { job: 'web', scheduler: 'service-1', committer: this.committer() },
      { job: 'crunch', scheduler: 'batch-1', committer: this.committer() },
    ] as const;
    const outcomes: PlanOutcome[] = [];
    let index = 0;
    for (let round = 0; round < rounds; round++) {
      const both = jobs.map(async ({ job, scheduler, committer }) =>
        committer.commit(await this.plan(job, scheduler, () => index++)),
      );
      await this.clock.advance(100);
      outcomes.push(...(await Promise.all(both)));
    }
    return outcomes;
  }

  /** Writes an allocation with the ledger that goes with it, as a correct commit would; `write` may spoil either. */
  async commitByHand(
    allocation: Allocation,
    spoil: { readonly allocation?: string; readonly ledger?: string | null; readonly key?: string } = {},
  ): Promise<void> {
    const key = spoil.key ?? KEYS.allocation(allocation.namespace, allocation.job, allocation.id);
    const ledger =
      spoil.ledger === undefined ? ledgerCodec.encode(await this.ledgerWith(allocation)) : spoil.ledger;
    const value = spoil.allocation ?? allocationCodec.encode(allocation);
    const writes = [{ kind: 'put' as const, key, value }];
    if (ledger !== null) writes.push({ kind: 'put', key: KEYS.ledger(allocation.host), value: ledger });
    await this.store.attempt({ compares: [], writes, readBack: [] });
  }

  async ledgerWith(...more: readonly Allocation[]) {
    const key = KEYS.ledger(more[0]?.host ?? '');
    const entry = (await this.store.read([key])).entries.get(key);
    const now = entry === undefined ? EMPTY_LEDGER : ledgerCodec.decode(entry.value);
    return more.reduce(withClaim, now);
  }
}

export function outcomeOf(allocation: Allocation): Outcome {
  const { id, namespace, job, jobVersion, group, index, attempt, host, scheduler } = allocation;
  return {
    allocation: id,
    namespace,
    job,
    jobVersion,
    group,
    index,
    attempt,
    host,
    scheduler,
    state: 'complete',
    reason: 'ended',
    endedAtMs: 1,
    restarts: 0,
  };
}
