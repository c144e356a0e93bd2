import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { Host } from '../../src/core/host/host.ts';
import { displacedBy, retainedBy, pendingEvictions } from '../../src/core/commit/pending-preemption.ts';
import type { Intent } from '../../src/core/cell/intent.ts';
import { forgottenOutcome } from '../../src/core/slots/outcomes.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import { schedulerKindOf } from '../../src/core/cell/job.ts';
import type { Eviction, Plan, Release } from '../../src/core/commit/plan.ts';
import type { CellStore, Revision } from '../../src/ports/cell-store.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Random } from '../../src/ports/random.ts';
import { makeEffective, openIntent, sweepIntent } from '../../src/runtime/commit/gang-intent.ts';
import { allocationCodec, intentCodec, jobCodec, ownerCodec } from '../../src/wire/records/records.ts';
import { CellReplay } from '../../sim/checkers/replay/replay.ts';
import { GangChecker } from '../../sim/checkers/commits/gangs.ts';
import { Findings } from '../../sim/checkers/replay/violations.ts';
import type { CommitterWorld } from '../support/commit-world.ts';
import { audit, committerWorld, testAllocation, testHost } from '../support/commit-world.ts';
import { makeJob } from '../unit/schedulers/cell-world.ts';

/** What the law is tried on. `storeOf` gives each life of a role its own client, which may fail and die. */
export interface GangTrial {
  readonly random: Random;
  readonly clock: Clock;
  readonly keys: CellKeys;
  /** Never fails. */
  readonly direct: CellStore;
  /** `deadAfter`: it answers so many attempts and then nothing more, as a process that was killed; null: it lives. */
  readonly storeOf: (deadAfter: number | null) => { readonly store: CellStore; readonly died: Promise<void> };
  /** All that was still on its way to the store has arrived. */
  readonly landed: () => Promise<void>;
  readonly jobs: number;
  /** Lives of each job's owner; each but the last may be cut short. */
  readonly lives: number;
}

export interface GangResult {
  /** Objections of the checkers, and of what is left at the end. */
  readonly faults: readonly string[];
  /** Gangs that came about, that were given up, and lives that ended in the middle. */
  readonly made: number;
  readonly givenUp: number;
  readonly cutShort: number;
  /** Those who gave way for good, and those whose marks were taken back. */
  readonly evicted: number;
  readonly kept: number;
}

const HOSTS = 5;
/** Four members. */
const HOST_CPU_MILLI = 4_000;
const LOWS = 2 * HOSTS;
/** Larger than a member: what that does not take is kept until it is certain. */
const LOW = { cpuMilli: 1_500, memoryMib: 1_200, diskMib: 0, scalars: {} };
const MEMBER = { cpuMilli: 1_000, memoryMib: 1_000, diskMib: 0, scalars: {} };

/**
 * Several owners bring gangs into one crowded cell, in which others of lower precedence have to give way to them, die at any attempt, and are followed by successors; somebody else
 * makes intents void at any time. Whatever happens, all of a gang or nothing of it is ever effective (I6), nobody goes for
 * one that comes to nothing, ledgers are true (I1, I3), and in the end nothing is left reserved (I55).
 */
export async function tryGangs(trial: GangTrial): Promise<GangResult> {
  const { direct, keys, random } = trial;
  const begin = (await direct.read([])).revision;
  const hosts = new Map(
    Array.from({ length: HOSTS }, (_, n) => [`h${String(n)}`, testHost(`h${String(n)}`)]),
  );
  const counts = { made: 0, givenUp: 0, cutShort: 0 };
  let isOver = false;
  await fillWithLows(trial, hosts);
  const owners = Array.from({ length: trial.jobs }, async (_, n) => {
    for (let life = 0; life < trial.lives; life++) {
      const isLast = life === trial.lives - 1;
      const owner = new Owner(trial, hosts, `gang-${String(n)}`, life, isLast ? null : random.below(14));
      const end = await Promise.race([owner.live(), owner.died.then(() => 'cut-short' as const)]);
      counts[end === 'cut-short' ? 'cutShort' : end === 'made' ? 'made' : 'givenUp'] += 1;
    }
  });
  const sweeper = (async () => {
    const { store } = trial.storeOf(null);
    const world = committerWorld({ ...trial, store, hosts });
    while (!isOver) {
      const intents = await intentsUnder(direct, keys.intents);
      if (random.below(3) === 0)
        for (const intent of intents) await sweep(trial, store, world, intent, 'sweeper');
      await later(trial.clock, 1);
    }
  })();
  await Promise.all([Promise.all(owners).finally(() => (isOver = true)), sweeper]);
  await trial.landed();
  const last = committerWorld({ ...trial, store: direct, hosts });
  for (const intent of await intentsUnder(direct, keys.intents))
    await sweep(trial, direct, last, intent, 'end');
  // Those who gave way to the last gangs have no later owner to release them.
  await releaseEvicted(trial, last, 'end-low');
  const faults = await judge(trial, hosts, begin);
  return { ...faults, ...counts };
}

/** One life of the scheduler that works on a job. */
class Owner {
  readonly died: Promise<void>;
  readonly #trial: GangTrial;
  readonly #store: CellStore;
  readonly #world: CommitterWorld;
  readonly #held = new Map<string, number>();
  readonly #hosts: ReadonlyMap<string, Host>;
  readonly #job: string;
  readonly #life: number;

  constructor(
    trial: GangTrial,
    hosts: ReadonlyMap<string, Host>,
    job: string,
    life: number,
    deadAfter: number | null,
  ) {
    const { store, died } = trial.storeOf(deadAfter);
    this.#trial = trial;
    this.#store = store;
    this.died = died;
    this.#hosts = hosts;
    this.#job = job;
    this.#life = life;
    this.#world = committerWorld({
      ...trial,
      ...{ store, hosts, intentRevisionOf: ({ id }) => this.#held.get(id), inFlightMax: 3 },
    });
  }

  async live(): Promise<'made' | 'given-up'> {
    const { keys, direct } = this.#trial;
    await this.#takeOver();
    await releaseEvicted(this.#trial, this.#world, `${this.#name}-low`);
    for (const intent of await intentsUnder(direct, keys.intentsOf('default', this.#job)))
      await sweep(this.#trial, this.#store, this.#world, intent, this.#name);
    await this.#release();
    return this.#place();
  }

  get #name(): string {
    return `${this.#job}-${String(this.#life)}`;
  }

  async #takeOver(): Promise<void> {
    const { keys, direct, random } = this.#trial;
    const count = 3 + random.below(6);
    const job = makeJob(this.#job, {}, { count, gang: true });
    const record = { job, version: this.#life + 1, desired: 'run', submittedAtMs: 0 } as const;
    const key = keys.owner('default', this.#job);
    const kind = schedulerKindOf(job);
    const value = ownerCodec.encode({ scheduler: this.#name, kind, sinceMs: 0 });
    await direct.attempt({ compares: [], writes: [{ kind: 'delete', key }], readBack: [] });
    const jobKey = keys.job('default', this.#job);
    const writes = [
      { kind: 'put' as const, key, value },
      { kind: 'put' as const, key: jobKey, value: jobCodec.encode(record) },
    ];
    await direct.attempt({ compares: [], writes, readBack: [] });
    const { entries } = await direct.read([key]);
    this.#world.owned.set(`default/${this.#job}`, entries.get(key)?.createRevision ?? 0);
    this.#count = count;
  }
  #count = 0;

  /** Ends what an earlier life brought about: the cell is small. */
  async #release(): Promise<void> {
    const { keys, direct } = this.#trial;
    for (;;) {
      const { entries } = await direct.list(keys.allocationsOf('default', this.#job));
      if (entries.size === 0) return;
      const releases = [...entries.values()].map(({ value, modRevision }) => {
        const allocation = allocationCodec.decode(value);
        return { allocation, revision: modRevision, outcome: forgottenOutcome(allocation, 'host-forgot', 0) };
      });
      await this.#world.committer.commit(planOf(`${this.#name}-release`, { releases }));
    }
  }

  async #place(): Promise<'made' | 'given-up'> {
    const { random } = this.#trial;
    let tries = 0;
    const make = (): Intent => ({
      ...{
        id: `i-${this.#name}-${String(tries++)}`,
        namespace: 'default',
        job: this.#job,
        jobVersion: this.#life + 1,
      },
      ...{ group: this.#job, scheduler: this.#name, planId: `p-${this.#name}`, members: this.#count },
      ...{ state: 'open', createdAtMs: 0, ttlMs: 1 },
    });
    const ownerRevision = this.#world.owned.get(`default/${this.#job}`) ?? 0;
    const session = new AbortController().signal;
    const deps = { ...this.#trial, store: this.#store, session };
    const opened = await openIntent(deps, make, ownerRevision);
    if (opened === null) return 'given-up';
    const { intent, revision } = opened;
    this.#held.set(intent.id, revision);
    const members = Array.from({ length: this.#count }, (_, index) =>
      this.#member(index, `h${String(random.below(HOSTS))}`, intent.id),
    );
    const { places, evictions } = await this.#withRoom(members, intent);
    const outcome = await this.#world.committer.commit(planOf(intent.planId, { places, evictions }));
    const isReserved = places.every(({ id }) => outcome.get(id)?.kind !== 'conflicted');
    const held = { revision, ownerRevision, member: places[0]?.id ?? '' };
    if (isReserved && (await makeEffective(deps, intent, held))) return 'made';
    await sweep(this.#trial, this.#store, this.#world, intent, this.#name);
    return 'given-up';
  }

  /**
   * Makes as many of the lows give way on each host as its members need, going by what the store says now. Members that fit
   * without that take nobody's place, and may be beside others that do.
   */
  async #withRoom(
    members: readonly Allocation[],
    intent: Intent,
  ): Promise<Pick<Plan, 'places' | 'evictions'>> {
    const { keys, direct } = this.#trial;
    const rows = [...(await direct.list(keys.allocations)).entries.values()].map(
      ({ value, modRevision }) => ({
        ...{
          victim: allocationCodec.decode(value),
          victimRevision: modRevision,
          cause: `evicted by ${this.#job}`,
        },
      }),
    );
    const evictions: Eviction[] = [];
    const places: Allocation[] = [];
    for (let n = 0; n < HOSTS; n++) {
      const host = `h${String(n)}`;
      const here = rows.filter(({ victim }) => victim.host === host);
      const some = members.filter((member) => member.host === host);
      const before = here.reduce((sum, { victim }) => sum + counted(victim), 0);
      const fitting = Math.max(0, Math.floor((HOST_CPU_MILLI - before) / MEMBER.cpuMilli));
      let used = before + MEMBER.cpuMilli * some.length;
      const evicts: string[] = [];
      for (const row of here) {
        if (used <= HOST_CPU_MILLI || row.victim.job !== 'low' || row.victim.desired !== 'run') continue;
        used -= counted(row.victim);
        evicts.push(row.victim.id);
        evictions.push(row);
      }
      places.push(...some.map((member, n) => (n < fitting ? member : withEvicts(member, evicts))));
    }
    const displaced = displacedBy(places, evictions);
    const named = places.map((place) => {
      const displaces = displaced.get(place.id);
      return displaces === undefined ? place : { ...place, displaces };
    });
    return { places: named, evictions: pendingEvictions(named, evictions, intent) };
  }

  #member(index: number, host: string, intent: string): Allocation {
    return testAllocation(`${this.#name}-${String(index)}`, host, {
      ...{ job: this.#job, group: this.#job, index, intent, jobVersion: this.#life + 1 },
      ...{ planId: `p-${this.#name}`, scheduler: this.#name, resources: MEMBER },
    });
  }
}

function withEvicts(member: Allocation, evicts: readonly string[]): Allocation {
  return evicts.length === 0 ? member : { ...member, evicts };
}

function counted(allocation: Allocation): number {
  return (allocation.desired === 'evict' ? retainedBy(allocation) : allocation)?.resources.cpuMilli ?? 0;
}

/** Two on each host, of a job whose owner key stays. */
async function fillWithLows(trial: GangTrial, hosts: ReadonlyMap<string, Host>): Promise<void> {
  const { direct, keys } = trial;
  const key = keys.owner('default', 'low');
  const value = ownerCodec.encode({ scheduler: 'low', kind: 'batch', sinceMs: 0 });
  await direct.attempt({ compares: [], writes: [{ kind: 'put', key, value }], readBack: [] });
  const world = committerWorld({ ...trial, store: direct, hosts });
  await ownLows(trial, world);
  const places = Array.from({ length: LOWS }, (_, n) =>
    testAllocation(`low-${String(n)}`, `h${String(n % HOSTS)}`, {
      ...{ job: 'low', group: 'low', index: n, precedence: 10, resources: LOW },
      ...{ planId: `p-low-${String(n)}`, scheduler: 'low' },
    }),
  );
  await world.committer.commit(planOf('lows', { places }));
}

async function ownLows({ direct, keys }: GangTrial, world: CommitterWorld): Promise<void> {
  const key = keys.owner('default', 'low');
  const { entries } = await direct.read([key]);
  world.owned.set('default/low', entries.get(key)?.createRevision ?? 0);
}

/** Those who gave way for good have ended. Who yields to an intent that is there is nobody's to release. */
async function releaseEvicted(trial: GangTrial, world: CommitterWorld, id: string): Promise<void> {
  const { direct, keys } = trial;
  await ownLows(trial, world);
  const { entries } = await direct.list(keys.allocationsOf('default', 'low'));
  const releases: Release[] = [];
  for (const { value, modRevision } of entries.values()) {
    const allocation = allocationCodec.decode(value);
    if (allocation.yields === undefined) continue;
    const { namespace, job, id: intent } = allocation.yields.intent;
    const key = keys.intent(namespace, job, intent);
    const now = await direct.read([key, keys.allocation('default', 'low', allocation.id)]);
    if (now.entries.has(key)) continue;
    releases.push({
      allocation,
      revision: modRevision,
      outcome: forgottenOutcome(allocation, 'host-forgot', 0),
    });
  }
  if (releases.length > 0) await world.committer.commit(planOf(id, { releases }));
}

async function sweep(
  trial: GangTrial,
  store: CellStore,
  world: CommitterWorld,
  intent: Intent,
  by: string,
): Promise<void> {
  await sweepIntent(
    { ...trial, store },
    intent,
    (releases) => world.committer.commit(planOf(`sweep-${intent.id}-${by}`, { releases })),
    new AbortController().signal,
  );
}

function planOf(id: string, more: Partial<Plan>): Plan {
  return { id, atomicity: 'incremental', places: [], evictions: [], releases: [], ...more };
}

async function intentsUnder(store: CellStore, prefix: string): Promise<Intent[]> {
  const { entries } = await store.list(prefix);
  return [...entries.values()].map(({ value }) => intentCodec.decode(value));
}

async function judge(
  { direct, keys }: GangTrial,
  hosts: ReadonlyMap<string, Host>,
  begin: number,
): Promise<Pick<GangResult, 'faults' | 'evicted' | 'kept'>> {
  const history: Revision[] = [];
  for await (const revision of direct.history(keys.root, begin + 1)) history.push(revision);
  const { faults, live } = audit(history, keys, hosts);
  const findings = new Findings();
  const replay = new CellReplay(keys);
  const gangs = new GangChecker();
  const counts = { evicted: 0, kept: 0 };
  for (const { revision, changes } of history) {
    const step = replay.apply(revision, changes);
    gangs.check(step, replay.cell, findings);
    for (const { before, after } of step.changed.allocations)
      if (before?.yields !== undefined) counts[after === undefined ? 'evicted' : 'kept'] += 1;
  }
  const left = await intentsUnder(direct, keys.intents);
  const all = [
    ...faults,
    ...findings.violations.map(({ invariant, key, detail }) => `${invariant} ${key}: ${detail}`),
    ...left.map(({ id }) => `I55 ${id} is left`),
    ...incompleteGangs(live, replay),
  ];
  return { faults: all, ...counts };
}

/** Of what is there at the end, each gang is whole. */
function incompleteGangs(live: ReadonlyMap<string, Allocation>, replay: CellReplay): string[] {
  const counts = new Map<string, number>();
  for (const { job, jobVersion } of live.values()) {
    if (job === 'low') continue;
    const gang = `${job} ${String(jobVersion)}`;
    counts.set(gang, (counts.get(gang) ?? 0) + 1);
  }
  return [...counts].flatMap(([gang, count]) => {
    const [job = ''] = gang.split(' ');
    const wanted = replay.cell.jobs.get(`default/${job}`)?.job.groups[job]?.count ?? 0;
    return count === wanted ? [] : [`I6 ${gang}: ${String(count)} of ${String(wanted)} are left`];
  });
}

function later(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => clock.after(delayMs, resolve));
}
