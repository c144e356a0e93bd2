import { parseArgs } from 'node:util';
import { CellState } from '../src/core/cell-state.ts';
import type { Claim } from '../src/core/claim.ts';
import { evictionHosts } from '../src/core/eviction-hosts.ts';
import type { Host } from '../src/core/host.ts';
import type { KnownHost } from '../src/core/host-slot.ts';
import { allocatable } from '../src/core/host.ts';
import { EMPTY_LEDGER, withClaim } from '../src/core/ledger.ts';
import type { Expression, Group } from '../src/core/job.ts';
import type { PlacementPolicy, PlacementRequest } from '../src/core/placement.ts';
import { BINPACK, place } from '../src/core/placement.ts';
import { rankByWalk } from '../src/core/reference.ts';
import { NO_SCALARS } from '../src/core/resources.ts';
import type { SeededRandom } from '../src/core/seeded-random.ts';
import { seededRandom } from '../src/core/seeded-random.ts';
import { chooseVictims } from '../src/core/victims.ts';

/**
 * How many placements a second a scheduler can decide, in memory alone. A decision is `place` and `assume`: choosing
 * the host and counting its claim in the private state, as before a commit. The cell is half full at the start.
 */
const DECISIONS = 20_000;
const IDENTICAL = 100_000;
const EVICTIONS = 4_000;
/** Allocations on each host of a full cell. */
const EACH = 12;
const CONSTRAINT_SETS = 20;
/** Between so many decisions the cell is emptied of them again, so that a small one does not fill up. */
const ROUND = 2000;
const RUNS = 3;

interface Figure {
  readonly what: string;
  readonly hosts: number;
  readonly rate: Rate;
}

const { values } = parseArgs({
  options: {
    hosts: { type: 'string', default: '1000,10000,100000' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
  },
});
const seed = Number(values.seed);
const sizes = values.hosts.split(',').map(Number);

function amounts(cpuMilli: number, memoryMib: number): Host['capacity'] {
  return { cpuMilli, memoryMib, diskMib: 0, scalars: NO_SCALARS };
}

/** Four shapes of machines, three zones, forty racks, a tenth with fast disks. */
function makeHost(n: number, random: SeededRandom): Host {
  const size = 1 << random.below(4);
  return {
    id: `host-${String(n).padStart(6, '0')}`,
    address: 'http://127.0.0.1:1',
    capacity: { ...amounts(8000 * size, 32_768 * size), diskMib: 500_000 },
    reserved: amounts(200, 512),
    gpuModels: [],
    portRange: { first: 20_000, last: 32_000 },
    attributes: {
      os: 'linux',
      'driver.exec': 'true',
      zone: `z${String(random.below(3))}`,
      rack: `r${String(random.below(40))}`,
      class: random.below(10) === 0 ? 'ssd' : 'disk',
      serial: String(n),
    },
    bootId: 'b',
    incarnation: 1,
    agentVersion: '0',
  };
}

function makeGroup(part: Partial<Group>): Group {
  return {
    name: 'web',
    count: 1,
    parallelism: null,
    gang: false,
    ports: {},
    constraints: [],
    affinities: [],
    spread: [],
    distinct: [],
    tasks: {},
    restart: { attempts: 0, windowMs: 0, delayMs: 0, on: 'never' },
    reschedule: { attempts: 0, delayMs: 0, delayMaxMs: 0, onHostLost: false },
    deadlineMs: null,
    waitMaxMs: null,
    ...part,
  };
}

function makeRequest(part: Partial<PlacementRequest>, cpuMilli = 100, memoryMib = 200): PlacementRequest {
  return {
    namespace: 'default',
    job: 'job',
    group: makeGroup({}),
    ask: { resources: amounts(cpuMilli, memoryMib), gpu: null, ports: {} },
    precedence: 50,
    count: 1,
    hostsHeld: [],
    avoidHosts: [],
    ...part,
  };
}

const expression = (attribute: string, operator: Expression['operator'], value: string): Expression => ({
  attribute,
  operator,
  value,
  text: `host.${attribute} ${operator} ${value}`,
});

/** Sets of two or three constraints, as different jobs write them; half of them leave less than a tenth of the hosts. */
function constraintsOf(n: number): Expression[] {
  const some = [expression('os', '==', 'linux'), expression('zone', '==', `z${String(n % 3)}`)];
  if (n % 2 === 0) some.push(expression('class', '==', n % 4 === 0 ? 'ssd' : 'disk'));
  if (n % 10 === 5) some.push(expression('rack', 'in', `r${String(n)},r${String(n + 1)}`));
  return some;
}

class Cell {
  readonly state = new CellState();
  readonly #claims: string[] = [];
  #made = 0;

  constructor(hosts: number, random: SeededRandom) {
    for (let n = 0; n < hosts; n++) {
      const host = makeHost(n, random);
      this.state.setHost(host);
      this.state.setAlive(host.id, true);
      const half = amounts(
        random.below(host.capacity.cpuMilli - 1000),
        random.below(host.capacity.memoryMib - 4000),
      );
      this.state.setLedger(host.id, { ...EMPTY_LEDGER, bands: { 50: half } }, 1);
    }
  }

  /** One decision: as many places as the request wants, each assumed. */
  decide(request: PlacementRequest, random: SeededRandom, policy: PlacementPolicy): number {
    const { chosen } = place(this.state, request, random, policy);
    for (const { host, known, gpus, ports } of chosen) {
      const id = `claim-${String(this.#made++)}`;
      const claim: Claim = {
        id,
        host,
        precedence: request.precedence,
        resources: request.ask.resources,
        gpus,
        ports,
      };
      this.state.assume(claim, known);
      this.#claims.push(id);
    }
    return chosen.length;
  }

  forgetAll(): void {
    for (const id of this.#claims.splice(0)) this.state.forget(id);
  }
}

/** Hosts full to the brim, each with a dozen allocations of three precedences. */
class FullCell {
  readonly #state = new CellState();
  readonly #running = new Map<string, Claim[]>();

  constructor(hosts: number, random: SeededRandom) {
    for (let n = 0; n < hosts; n++) {
      const host = makeHost(n, random);
      const { cpuMilli, memoryMib } = allocatable(host);
      const share = amounts(Math.floor(cpuMilli / EACH), Math.floor(memoryMib / EACH));
      const running = Array.from({ length: EACH }, (_, index) => {
        const precedence = [10, 30, 50][random.below(3)] ?? 50;
        const id = `${host.id}-${String(index)}`;
        return { id, host: host.id, precedence, resources: share, gpus: [], ports: {} };
      });
      this.#state.setHost(host);
      this.#state.setAlive(host.id, true);
      this.#state.setLedger(host.id, running.reduce(withClaim, EMPTY_LEDGER), 1);
      this.#running.set(host.id, running);
    }
  }

  evict(request: PlacementRequest, random: SeededRandom, passed: ReadonlySet<string>): number {
    const [id] = evictionHosts(this.#state, request, random, BINPACK, { most: 4, passed });
    const host = id === undefined ? undefined : this.#state.hostOf(id);
    if (id === undefined || host === undefined) return 0;
    const running = this.#running.get(id) ?? [];
    const choice = chooseVictims(host, this.#state.ledgerOf(id), request, running, random);
    if (choice === null) return 0;
    // The newcomer counts until the commit would tell of both; then all is as before.
    const claim = { id: 'newcomer', precedence: request.precedence, resources: request.ask.resources };
    this.#state.assume({ ...claim, ...choice.placement });
    this.#state.forget('newcomer');
    return 1;
  }
}

interface Rate {
  /** By the CPU time of this process, garbage collection included: steady on a machine that others use too. */
  readonly perCpuSecond: number;
  readonly perSecond: number;
}

/** The best of a few runs on the same cell, which is as it was at the beginning of each round. */
function measure(cell: Cell, decisions: number, run: (n: number) => number): Rate {
  let best: Rate = { perCpuSecond: 0, perSecond: 0 };
  for (let attempt = 0; attempt < RUNS; attempt++) {
    const rounds = new Stopwatch();
    for (let done = 0; done < decisions; done += ROUND) {
      rounds.start();
      rounds.stop(makeDecisions(Math.min(ROUND, decisions), run));
      cell.forgetAll();
    }
    if (rounds.rate.perCpuSecond > best.perCpuSecond) best = rounds.rate;
  }
  return best;
}

function makeDecisions(wanted: number, run: (n: number) => number): number {
  let made = 0;
  for (let n = 0; made < wanted; n++) {
    const more = run(n);
    if (more === 0)
      throw new Error(`decision ${String(n)} found no place: the cell is too small for the round`);
    made += more;
  }
  return made;
}

class Stopwatch {
  #made = 0;
  #cpuMicros = 0;
  #wallMs = 0;
  #cpu = process.cpuUsage();
  #wall = 0;

  start(): void {
    this.#cpu = process.cpuUsage();
    this.#wall = performance.now();
  }

  stop(made: number): void {
    const { user, system } = process.cpuUsage(this.#cpu);
    this.#cpuMicros += user + system;
    this.#wallMs += performance.now() - this.#wall;
    this.#made += made;
  }

  get rate(): Rate {
    return {
      perCpuSecond: (this.#made * 1_000_000) / this.#cpuMicros,
      perSecond: (this.#made * 1000) / this.#wallMs,
    };
  }
}

type Scenario = (cell: Cell, random: SeededRandom, hosts: KnownHost[]) => Rate;

const scenarios: Record<string, Scenario> = {
  identical: (cell, random) =>
    measure(cell, IDENTICAL, () => cell.decide(makeRequest({ count: 1000 }), random, BINPACK)),
  single: (cell, random) => measure(cell, DECISIONS, () => cell.decide(makeRequest({}), random, BINPACK)),
  constrained: (cell, random) =>
    measure(cell, DECISIONS, (n) => {
      const group = makeGroup({ constraints: constraintsOf(n % CONSTRAINT_SETS) });
      return cell.decide(makeRequest({ group }, 100 + random.below(900)), random, BINPACK);
    }),
  spread: (cell, random, hosts) =>
    measure(cell, DECISIONS, (n) => {
      const group = makeGroup({ spread: [{ attribute: 'zone', weight: 100 }] });
      return cell.decide(makeRequest({ group, hostsHeld: slice(hosts, n, 5) }), random, BINPACK);
    }),
  'spread-racks': (cell, random, hosts) =>
    measure(cell, DECISIONS, (n) => {
      const group = makeGroup({ spread: [{ attribute: 'rack', weight: 50 }] });
      return cell.decide(makeRequest({ group, hostsHeld: slice(hosts, n, 5) }), random, BINPACK);
    }),
  distinct: (cell, random, hosts) =>
    measure(cell, DECISIONS, (n) => {
      const group = makeGroup({ distinct: ['id'] });
      return cell.decide(makeRequest({ group, hostsHeld: slice(hosts, n, 20) }), random, BINPACK);
    }),
  'distinct-batch': (cell, random) =>
    measure(cell, DECISIONS, () => {
      const group = makeGroup({ distinct: ['id'] });
      return cell.decide(makeRequest({ group, count: 500 }), random, BINPACK);
    }),
  'spread-batch': (cell, random) =>
    measure(cell, DECISIONS, () => {
      const group = makeGroup({ spread: [{ attribute: 'zone', weight: 100 }] });
      return cell.decide(makeRequest({ group, count: 500 }), random, BINPACK);
    }),
  /** All of the cell is full of lower precedence: a host is found and its victims are chosen. */
  eviction: (cell, random, hosts) => {
    const full = new FullCell(hosts.length, random);
    const passed = new Set<string>();
    return measure(cell, EVICTIONS, (n) => {
      const request = makeRequest({ precedence: 60 + (n % 2) * 20 }, 2_000 + random.below(2_000), 4_000);
      return full.evict(request, random, passed);
    });
  },
  'nothing-fits': (cell, random) =>
    measure(
      cell,
      DECISIONS,
      () => place(cell.state, makeRequest({}, 64_000, 300_000), random, BINPACK).unplaced,
    ),
};

function slice(hosts: KnownHost[], n: number, count: number): KnownHost[] {
  const start = (n * 7919) % Math.max(1, hosts.length - count);
  return hosts.slice(start, start + count);
}

/** The mean rank of the picks among all that fit, 0 best: what the sample costs against scoring every host. */
function rankOfPicks(cell: Cell, random: SeededRandom): number {
  const request = makeRequest({});
  const scores = rankByWalk(cell.state, request, BINPACK);
  const tries = 50;
  let sum = 0;
  for (let n = 0; n < tries; n++) {
    const host = place(cell.state, request, random, BINPACK).chosen[0]?.host ?? '';
    const picked = scores.get(host) ?? 0;
    sum += [...scores.values()].filter((score) => score > picked).length / scores.size;
  }
  return sum / tries;
}

const figures: Figure[] = [];
for (const size of sizes) {
  const random = seededRandom(seed);
  const cell = new Cell(size, random);
  const hosts = Array.from({ length: size }, (_, n) =>
    cell.state.known(`host-${String(n).padStart(6, '0')}`),
  );
  for (const [what, run] of Object.entries(scenarios)) {
    if (values.only !== '' && !values.only.split(',').includes(what)) continue;
    const rate = run(cell, random, hosts);
    figures.push({ what, hosts: size, rate });
    const each = (1_000_000 / rate.perCpuSecond).toFixed(2);
    console.log(
      `decide ${what} hosts=${String(size)} sample=${String(BINPACK.sample)} seed=${String(seed)} ` +
        `per_cpu_second=${rate.perCpuSecond.toFixed(0)} cpu_us_each=${each} per_second=${rate.perSecond.toFixed(0)}`,
    );
  }
  if (values.only === '') {
    const rank = rankOfPicks(cell, random);
    console.log(
      `decide rank-of-picks hosts=${String(size)} seed=${String(seed)} mean=${rank.toFixed(4)} (0 best)`,
    );
  }
}

function rate(what: string, hosts: number): number | undefined {
  return figures.find((figure) => figure.what === what && figure.hosts === hosts)?.rate.perCpuSecond;
}

function ratio(name: string, above: number | undefined, below: number | undefined, wanted: string): void {
  if (above === undefined || below === undefined) return;
  console.log(
    `decide ratio ${name} seed=${String(seed)} value=${(above / below).toFixed(2)} wanted=${wanted}`,
  );
}

/** Decisions a second that design.md asks for at this size. */
const ASKED_HOSTS = 10_000;
const ASKED = { identical: 1_000_000, constrained: 100_000 };

for (const [what, wanted] of Object.entries(ASKED)) {
  const perSecond = rate(what, ASKED_HOSTS);
  if (perSecond === undefined) continue;
  console.log(
    `decide asked ${what} hosts=${String(ASKED_HOSTS)} seed=${String(seed)} ` +
      `per_cpu_second=${perSecond.toFixed(0)} wanted=>=${String(wanted)}`,
  );
}
for (const what of Object.keys(scenarios)) {
  const [first, last] = [sizes[0] ?? 0, sizes.at(-1) ?? 0];
  if (first !== last)
    ratio(`${what}-cost-${String(last)}-to-${String(first)}`, rate(what, first), rate(what, last), '<=2');
}
for (const what of ['spread', 'spread-racks', 'distinct', 'spread-batch', 'distinct-batch']) {
  for (const hosts of sizes)
    ratio(`${what}-to-single-hosts-${String(hosts)}`, rate('single', hosts), rate(what, hosts), '<=5');
}
