import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryCell } from '../../../../src/adapters/memory/cell.ts';
import type { MemoryStoreOptions } from '../../../../src/adapters/memory/memory.ts';
import { MemoryCellStore } from '../../../../src/adapters/memory/memory.ts';
import type { Allocation } from '../../../../src/core/cell/allocation.ts';
import type { Host } from '../../../../src/core/host/host.ts';
import { cellKeys } from '../../../../src/core/cell/keys.ts';
import { LedgerBook } from '../../../../src/core/commit/ledger-book.ts';
import type { ConflictCheck, Plan, PlanOutcome } from '../../../../src/core/commit/plan.ts';
import { PoolBook } from '../../../../src/core/quota/pool-book.ts';
import { NO_SCALARS } from '../../../../src/core/cell/resources.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import type {
  Attempt,
  AttemptReply,
  CellStore,
  Follower,
  Following,
} from '../../../../src/ports/cell-store.ts';
import type { Random } from '../../../../src/ports/random.ts';
import { PoolFeed } from '../../../../src/runtime/records/pool-feed.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import { Replies } from '../../../../src/runtime/commit/replies.ts';
import { LedgerFeed } from '../../../../src/runtime/records/ledger-feed.ts';
import { Table } from '../../../../src/runtime/records/records.ts';
import { allocationCodec, ledgerCodec, sharedResourceCodec } from '../../../../src/wire/records/records.ts';
import type { CommitterWorld } from '../../../support/commit-world.ts';
import {
  auditCell,
  committerWorld,
  own as becomeOwner,
  planOf,
  testAllocation,
  testHost,
} from '../../../support/commit-world.ts';
import type { AttemptFault } from '../../../support/faulty-store.ts';
import { FaultyStore } from '../../../support/faulty-store.ts';
import { InstantClock, turns } from '../../../support/instant-clock.ts';

const FAULTS: readonly AttemptFault[] = ['reply-lost', 'request-lost', 'lands-late', 'unavailable'];
const REBASES_MAX = 8;

interface Settings {
  readonly seed: number;
  readonly schedulers: number;
  readonly hosts: number;
  readonly plans: number;
  readonly operationsMax: number;
  /** Of a hundred attempts. */
  readonly faultPercent: number;
  readonly conflictCheck: ConflictCheck;
  readonly follows: boolean;
}

interface Result {
  readonly plans: readonly { readonly plan: Plan; readonly outcome: PlanOutcome }[];
  readonly cell: MemoryCell;
  readonly hosts: ReadonlyMap<string, Host>;
  readonly worlds: readonly CommitterWorld[];
  readonly faults: number;
  /** Revisions that a scheduler's watch left out; and was it the scheduler's own? */
  readonly leftOut: readonly { readonly revision: number; readonly isOwn: boolean }[];
}

/** Remembers which revisions were made through it. */
class CountingStore extends MemoryCellStore {
  readonly #own: Set<number>;

  constructor(own: Set<number>, options: MemoryStoreOptions) {
    super(options);
    this.#own = own;
  }

  override async attempt(attempt: Attempt): Promise<AttemptReply> {
    const reply = await super.attempt(attempt);
    if (reply.outcome === 'applied') this.#own.add(reply.revision);
    return reply;
  }
}

/** Tells late, sometimes before and sometimes after the reply, and notes what it may leave out. */
class LaggingWatch extends MemoryCellStore {
  readonly leftOut: { revision: number; isOwn: boolean }[] = [];
  readonly #own: ReadonlySet<number>;
  readonly #last: { seen: Promise<void> };

  constructor(own: ReadonlySet<number>, options: MemoryStoreOptions & { readonly random: Random }) {
    const last = { seen: Promise.resolve() };
    const deliver = (tell: () => void): void => {
      last.seen = last.seen.then(() => turns(options.random.below(4))).then(tell);
    };
    super({ ...options, deliver });
    this.#last = last;
    this.#own = own;
  }

  override follow(prefix: string, follower: Follower): Following {
    return super.follow(prefix, {
      onSnapshot: (snapshot) => follower.onSnapshot(snapshot),
      onChanges: (changes, revision) => follower.onChanges(changes, revision),
      knows: (revision) => {
        const isKnown = follower.knows?.(revision) === true;
        if (isKnown) this.leftOut.push({ revision, isOwn: this.#own.has(revision) });
        return isKnown;
      },
    });
  }

  /** What is on its way is lost, and everything listed anew. */
  breakOff(): void {
    this.cutOff();
    this.reconnect();
  }

  delivered(): Promise<void> {
    return this.#last.seen;
  }
}

const keys = cellKeys('test');

/** Several schedulers, each with its own client of one cell, place, evict and release at random against each other. */
async function run(settings: Settings): Promise<Result> {
  const random = seededRandom(settings.seed);
  const clock = new InstantClock();
  const cell = new MemoryCell({ clock });
  const hosts = new Map(
    Array.from({ length: settings.hosts }, (_, index) => `h${String(index)}`).map((id, index) => [
      id,
      testHost(id, { attributes: { rack: `r${String(index % 2)}` } }),
    ]),
  );
  const limits = { operationsMax: settings.operationsMax, bytesMax: 1_000_000 };
  await operate(new MemoryCellStore({ clock, cell, limits }), random, 1);
  const plans: { plan: Plan; outcome: PlanOutcome }[] = [];
  const worlds: CommitterWorld[] = [];
  const faulty: FaultyStore[] = [];
  const work = Array.from({ length: settings.schedulers }, async (_, index) => {
    const own = new Set<number>();
    const plain = new CountingStore(own, { clock, cell, limits });
    const store = new FaultyStore(plain, random);
    faulty.push(store);
    const pools = new PoolBook();
    const operators = await plain.list(keys.shared);
    const replies = new Replies({ keys, pools, book: new LedgerBook(), log: silentLog });
    for (const name of SHARED) replies.readResource(name, operators);
    if (settings.follows)
      await new PoolFeed(plain, keys, pools, {
        onCapacityFreed: () => undefined,
        onBadRecord: () => undefined,
      }).ready;
    const world = committerWorld({
      pools,
      ...{ store: store.store, keys, hosts, clock, random, inFlightMax: 1 + random.below(4) },
      ...{ conflictCheck: settings.conflictCheck, rebasesMax: REBASES_MAX },
    });
    worlds.push(world);
    const job = `job${String(index)}`;
    await becomeOwner(plain, keys, world, job);
    store.next = () =>
      random.below(100) < settings.faultPercent ? (FAULTS[random.below(FAULTS.length)] ?? null) : null;
    const allocations = new Table(plain, keys.allocations, allocationCodec);
    const watch = settings.follows ? new LaggingWatch(own, { clock, cell, limits, random }) : null;
    const feed = watch && new LedgerFeed(watch, keys, world.book, { onLedger: () => undefined });
    await Promise.all([allocations.ready, feed?.ready]);
    const open: Promise<unknown>[] = [];
    for (let number = 0; number < settings.plans; number++) {
      const plan = randomPlan({ random, job, number, hosts, allocations });
      open.push(world.committer.commit(plan).then((outcome) => plans.push({ plan, outcome })));
      await turns(random.below(4));
      if (random.below(12) === 0) await operate(plain, random, random.below(3));
      if (random.below(12) === 0) watch?.breakOff();
    }
    await Promise.all(open);
    await world.committer.idle();
    return watch;
  });
  const watches = (await Promise.all(work)).filter((watch) => watch !== null);
  for (const store of faulty) await store.landed();
  for (const watch of watches) await watch.delivered();
  const faults = faulty.reduce((sum, { faults: f }) => sum + Object.values(f).reduce((a, b) => a + b, 0), 0);
  const leftOut = watches.flatMap((watch) => watch.leftOut);
  return { plans, cell, hosts, worlds, faults, leftOut };
}

const SHARED = ['uplink', 'power'];

/** What an operator says of what hosts share: each time something else, also nothing at all. */
async function operate(store: CellStore, random: Random, capacityFactor: number): Promise<void> {
  const writes = SHARED.map((name) => ({
    kind: 'put' as const,
    key: keys.sharedResource(name),
    value: sharedResourceCodec.encode({
      ...{ name, unit: '', by: name === 'uplink' ? 'rack' : null },
      capacity: capacityFactor * (500 + random.below(1000)),
      capacities: {},
    }),
  }));
  await store.attempt({ compares: [], writes, readBack: [] });
}

/** What a place on the host takes of pools. */
function randomShare(random: Random, host: Host | undefined): Pick<Allocation, 'shared'> {
  const rack = `uplink/${host?.attributes['rack'] ?? ''}`;
  const choice = random.below(5);
  if (choice > 2) return {};
  const amount = 50 + random.below(200);
  return {
    shared: {
      ...(choice === 1 ? {} : { [rack]: amount }),
      ...(choice === 0 ? {} : { 'power/cell': amount }),
    },
  };
}

interface PlanInput {
  readonly random: Random;
  readonly job: string;
  readonly number: number;
  readonly hosts: ReadonlyMap<string, Host>;
  readonly allocations: Table<Allocation>;
}

/** Anything goes, also what can not fit, and what others are changing at the same time. */
function randomPlan({ random, job, number, hosts, allocations }: PlanInput): Plan {
  const hostIds = [...hosts.keys()];
  const places = Array.from({ length: random.below(6) }, (_, index) => {
    const host = hostIds[random.below(hostIds.length)] ?? 'h0';
    return testAllocation(`${job}-${String(number)}-${String(index)}`, host, {
      ...randomShare(random, hosts.get(host)),
      job,
      planId: `${job}-${String(number)}`,
      precedence: random.below(3) * 50,
      resources: {
        cpuMilli: 200 + random.below(1_500),
        memoryMib: random.below(1_500),
        diskMib: 0,
        scalars: NO_SCALARS,
      },
      gpus: random.below(4) === 0 ? [{ device: random.below(2), milli: 100 + random.below(600) }] : [],
      ports: random.below(3) === 0 ? { http: 20_000 + random.below(10) } : {},
    });
  });
  const taken = new Set<string>();
  const pick = (count: number): { allocation: Allocation; revision: number }[] => {
    const rows = [...allocations.rows()].map(([, row]) => ({
      allocation: row.value,
      revision: row.modRevision,
    }));
    const picked = Array.from({ length: count }, () => rows[random.below(Math.max(1, rows.length))]);
    return picked.filter(
      (row) => row !== undefined && !taken.has(row.allocation.id) && taken.add(row.allocation.id),
    ) as {
      allocation: Allocation;
      revision: number;
    }[];
  };
  return planOf(`${job}-${String(number)}`, {
    atomicity: random.below(4) === 0 ? 'all-or-nothing' : 'incremental',
    places,
    evictions: pick(random.below(3)).map(({ allocation, revision }) => ({
      ...{ victim: allocation, victimRevision: revision, cause: `evicted by ${job}` },
    })),
    releases: pick(random.below(4)).map(({ allocation, revision }) => ({
      ...{ allocation, revision, outcome: random.below(2) === 0 ? null : outcomeOf(allocation) },
    })),
  });
}

function outcomeOf(allocation: Allocation) {
  const { id, namespace, job, jobVersion, group, index, attempt, host, scheduler } = allocation;
  const what = { allocation: id, namespace, job, jobVersion, group, index, attempt, host, scheduler };
  return { ...what, state: 'complete', reason: 'done', endedAtMs: 1, restarts: 0 };
}

function ledgersOf(book: LedgerBook): Record<string, string> {
  return Object.fromEntries(
    Array.from(book.hosts(), (host) => [host, ledgerCodec.encode(book.get(host).ledger)]),
  );
}

function storedLedgers(cell: MemoryCell): Record<string, string> {
  return Object.fromEntries(
    cell.list(keys.ledgers).map(({ key, value }) => [key.slice(keys.ledgers.length), value]),
  );
}

const settings = fc.record({
  seed: fc.integer({ min: 0, max: 0x7fff_ffff }),
  schedulers: fc.integer({ min: 1, max: 4 }),
  hosts: fc.integer({ min: 1, max: 8 }),
  plans: fc.integer({ min: 1, max: 12 }),
  operationsMax: fc.constantFrom(8, 16, 128),
  faultPercent: fc.constantFrom(0, 10, 40),
  conflictCheck: fc.constantFrom('resource-fit' as const, 'version' as const),
  follows: fc.boolean(),
});

describe('committer under contention and faults', () => {
  it('I1 I2 I3 I5 I6 I11 S3.15 S3.33: whatever meets, the laws hold and every part ends once', async () => {
    let faults = 0;
    let landed = 0;
    let conflicted = 0;
    let shared = 0;
    let outOfPool = 0;
    let leftOut = 0;
    await fc.assert(
      fc.asyncProperty(settings, async (one) => {
        const result = await run(one);
        const { faults: broken, created } = auditCell(result.cell, keys, result.hosts);
        expect(broken).toEqual([]);
        expect(result.plans).toHaveLength(one.schedulers * one.plans);
        for (const { plan, outcome } of result.plans) {
          const ids = [
            ...plan.places.map((place) => place.id),
            ...plan.evictions.map((eviction) => eviction.victim.id),
            ...plan.releases.map((release) => release.allocation.id),
          ];
          expect([...outcome.keys()].sort()).toEqual(ids.sort());
          const ends = plan.places.map((place) => outcome.get(place.id));
          for (const [index, end] of ends.entries()) {
            const at = created.get(plan.places[index]?.id ?? '');
            if (end?.kind === 'conflicted') expect(at, `conflicted ${plan.id}`).toBeUndefined();
            else expect(at, `${String(end?.kind)} ${plan.id}`).toBe(end?.revision);
            if (end?.kind === 'conflicted') conflicted += 1;
            else landed += 1;
            if (end?.kind !== 'conflicted' && plan.places[index]?.shared !== undefined) shared += 1;
            if (end?.kind === 'conflicted' && end.why.reason === 'no-fit')
              outOfPool += end.why.short.dimension.startsWith('shared:') ? 1 : 0;
            if (one.conflictCheck === 'version') expect(end?.kind).not.toBe('rebased');
          }
          if (plan.atomicity === 'all-or-nothing') {
            const revisions = [...outcome.values()].map((end) =>
              end.kind === 'conflicted' ? null : end.revision,
            );
            expect(new Set(revisions).size).toBeLessThanOrEqual(1);
          }
        }
        for (const { committer, book } of result.worlds) {
          expect(committer.queued).toBe(0);
          if (one.follows) expect(ledgersOf(book)).toEqual(storedLedgers(result.cell));
        }
        expect(result.leftOut.filter(({ isOwn }) => !isOwn)).toEqual([]);
        leftOut += result.leftOut.length;
        faults += result.faults;
      }),
      { numRuns: Number(process.env['MOORAGE_PROPERTY_RUNS'] ?? 150) },
    );
    // Nothing was shown if nothing landed, conflicted or failed.
    expect(Math.min(landed, conflicted, faults, shared, outOfPool, leftOut)).toBeGreaterThan(50);
  });
});
