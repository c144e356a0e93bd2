import type { Claim } from '../../src/core/cell/claim.ts';
import type { Chance } from '../../src/core/random/chance.ts';
import { CellState } from '../../src/core/cell-state/cell-state.ts';
import { preemptionHosts } from '../../src/core/preemption/preemption.ts';
import type { Host } from '../../src/core/host/host.ts';
import { allocatable } from '../../src/core/host/host.ts';
import { interferenceScalars } from '../../src/core/cell/interference.ts';
import type { Expression } from '../../src/core/cell/job.ts';
import { bandOf, EMPTY_LEDGER, withClaim } from '../../src/core/fit/ledger.ts';
import type { PlacementPolicy } from '../../src/core/scoring/policy.ts';
import type { PlacementRequest } from '../../src/core/placement/placement-request.ts';
import { place } from '../../src/core/placement/placement.ts';
import type { SeededRandom } from '../../src/core/random/random.ts';
import { chooseVictims } from '../../src/core/preemption/victims.ts';
import { amounts } from '../testbed/plain-request.ts';

/** Allocations on each host of a full cell. */
const EACH = 12;

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
      ...Object.fromEntries(POOL_COUNTS.map((count) => [`of${String(count)}`, `p${String(n % count)}`])),
    },
    bootId: 'b',
    incarnation: 1,
    agentVersion: '0',
  };
}

const expression = (attribute: string, operator: Expression['operator'], value: string): Expression => ({
  attribute,
  operator,
  value,
  text: `host.${attribute} ${operator} ${value}`,
});

/** Sets of two or three constraints, as different jobs write them; half of them leave less than a tenth of the hosts. */
export function constraintsOf(n: number): Expression[] {
  const some = [expression('os', '==', 'linux'), expression('zone', '==', `z${String(n % 3)}`)];
  if (n % 2 === 0) some.push(expression('class', '==', n % 4 === 0 ? 'ssd' : 'disk'));
  if (n % 10 === 5) some.push(expression('rack', 'in', `r${String(n)},r${String(n + 1)}`));
  return some;
}

/** Shared resources of so many pools each. */
export const POOL_COUNTS = [1, 100, 1000];

export class Cell {
  readonly state = new CellState();
  readonly #claims: Claim[] = [];
  #made = 0;

  constructor(hosts: number, random: SeededRandom) {
    for (const count of POOL_COUNTS) {
      const name = `shared${String(count)}`;
      const of = { name, unit: '', capacity: 1e9, capacities: {} };
      this.state.pools.define(name, { ...of, by: `host.of${String(count)}` }, 1);
    }
    for (let n = 0; n < hosts; n++) {
      const host = makeHost(n, random);
      this.state.setHost(host);
      this.state.setAlive(host.id, true);
      const half = amounts(
        random.below(host.capacity.cpuMilli - 1000),
        random.below(host.capacity.memoryMib - 4000),
      );
      this.state.setLedger(host.id, { ...EMPTY_LEDGER, bands: [bandOf(50, half)] }, 1);
    }
  }

  /** One decision: as many places as the request wants, each assumed. */
  decide(request: PlacementRequest, chance: Chance, policy: PlacementPolicy): number {
    const { chosen } = place(this.state, request, chance, policy);
    for (const { host, known, gpus, ports } of chosen) {
      const claim: Claim = {
        id: `claim-${String(this.#made++)}`,
        host,
        precedence: request.precedence,
        resources: request.ask.resources,
        gpus,
        ports,
        ...this.#sharedOn(host, request),
      };
      this.state.assume(claim, known);
      this.#claims.push(claim);
    }
    return chosen.length;
  }

  #sharedOn(id: string, { ask }: PlacementRequest): Pick<Claim, 'shared'> | null {
    const host = ask.shared === undefined ? undefined : this.state.hostOf(id);
    return host === undefined ? null : { shared: this.state.pools.useOn(host, ask.shared ?? {}) };
  }

  /** All hosts but one in `free` have something of the class. */
  settle(neighbour: string, free: number): void {
    this.#begin(neighbour, (n) => n % free !== 0);
  }

  /** One host in `all` has something of the class. */
  found(neighbour: string, all: number): void {
    this.#begin(neighbour, (n) => n % all === 0);
  }

  #begin(neighbour: string, isOn: (n: number) => boolean): void {
    const more = interferenceScalars({ class: neighbour }) ?? {};
    for (const [n, { host, ledger }] of [...this.state.views()].entries()) {
      if (!isOn(n)) continue;
      const bands = ledger.bands.map((band) => ({ ...band, scalars: { ...band.scalars, ...more } }));
      this.state.setLedger(host.id, { ...ledger, bands }, 2);
    }
  }

  forgetAll(): void {
    for (const claim of this.#claims.splice(0)) this.state.forget(claim);
  }
}

/** Hosts full to the brim, each with a dozen allocations of three precedences. */
export class FullCell {
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
    const [id] = preemptionHosts(this.#state, request, random, { most: 4, excluded: passed });
    const host = id === undefined ? undefined : this.#state.hostOf(id);
    if (id === undefined || host === undefined) return 0;
    const running = this.#running.get(id) ?? [];
    const choice = chooseVictims(host, this.#state.ledgerOf(id), request, running, random);
    if (choice === null) return 0;
    // The new claim counts until a commit would evict the victims; then all is as before.
    const { precedence, ask } = request;
    const claim = { id: 'newcomer', precedence, resources: ask.resources, ...choice.placement };
    this.#state.assume(claim);
    this.#state.forget(claim);
    return 1;
  }
}
