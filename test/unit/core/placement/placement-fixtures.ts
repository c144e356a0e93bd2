import { makeGroup } from '../../../../bench/testbed/plain-request.ts';
import type { Chance } from '../../../../src/core/random/chance.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import { CellState } from '../../../../src/core/cell-state/cell-state.ts';
import type { Claim } from '../../../../src/core/cell/claim.ts';
import type { Host } from '../../../../src/core/host/host.ts';
import type { Expression } from '../../../../src/core/cell/job.ts';
import type { Placement, PlacementRequest } from '../../../../src/core/placement/placement-request.ts';
import { NO_SCALARS } from '../../../../src/core/cell/resources.ts';
import type { GpuRequest, Resources } from '../../../../src/core/cell/resources.ts';
import type { SharedResource } from '../../../../src/core/quota/shared-resource.ts';

export function amounts(cpuMilli: number, memoryMib: number, diskMib = 0): Resources {
  return { cpuMilli, memoryMib, diskMib, scalars: NO_SCALARS };
}

export function makeHost(id: string, part: Partial<Host> = {}): Host {
  return {
    id,
    address: `http://${id}`,
    capacity: amounts(4000, 8192, 10_000),
    reserved: amounts(0, 0),
    gpuModels: [],
    portRange: { first: 20_000, last: 20_009 },
    attributes: {},
    bootId: 'boot',
    incarnation: 1,
    agentVersion: '0',
    ...part,
  };
}

export { makeGroup };

export interface RequestPart extends Partial<PlacementRequest> {
  readonly resources?: Resources;
  readonly gpu?: GpuRequest | null;
  readonly ports?: Readonly<Record<string, number>>;
  readonly shared?: Readonly<Record<string, number>>;
}

export function makeRequest(part: RequestPart = {}): PlacementRequest {
  const { resources, gpu, ports, shared, ...rest } = part;
  return {
    namespace: 'default',
    job: 'job',
    group: makeGroup(),
    ask: {
      resources: resources ?? amounts(1000, 1024),
      gpu: gpu ?? null,
      ports: ports ?? {},
      ...(shared === undefined ? {} : { shared }),
    },
    precedence: 50,
    count: 1,
    hostsHeld: [],
    avoidHosts: [],
    refusingHosts: [],
    ...rest,
  };
}

export function makeClaim(id: string, host: string, part: Partial<Claim> = {}): Claim {
  return { id, host, precedence: 50, resources: amounts(1000, 1024), gpus: [], ports: {}, ...part };
}

export function makeShared(name: string, by: string | null, capacity: number): SharedResource {
  return { name, unit: '', by, capacity, capacities: {} };
}

/** The claim that the placement makes of the request, with what it takes of pools. */
export function claimOf(
  id: string,
  placement: Placement,
  { ask }: PlacementRequest,
  state: CellState,
): Claim {
  const { host, gpus, ports } = placement;
  const registered = state.hostOf(host);
  if (registered === undefined) throw new Error(`${host} is not registered`);
  const shared = ask.shared === undefined ? null : { shared: state.pools.useOn(registered, ask.shared) };
  return makeClaim(id, host, { gpus, ports, resources: ask.resources, ...shared });
}

export function makeCell(hosts: readonly Host[]): CellState {
  const state = new CellState();
  for (const host of hosts) {
    state.setHost(host);
    state.setAlive(host.id, true);
  }
  return state;
}

export function expr(attribute: string, operator: Expression['operator'], value = ''): Expression {
  return { attribute, operator, value, text: `host.${attribute} ${operator} ${value}`.trim() };
}

/** Chance for a test whose seed fast-check prints. */
export function chanceOf(seed: number): Chance {
  return seededRandom(seed);
}

/** So many hosts that rare zones get trees of their own. */
export function largeCell(seed: number, hostsCount: number): CellState {
  const chance = chanceOf(seed);
  const hosts = Array.from({ length: hostsCount }, (_, n) =>
    makeHost(`h${String(n)}`, {
      attributes: {
        zone: chance.below(14) === 0 ? 'rare' : 'usual',
        os: chance.below(200) === 0 ? 'bsd' : 'linux',
      },
      gpuModels: chance.below(3) === 0 ? ['T4', 'T4'] : [],
    }),
  );
  return makeCell(hosts);
}

/** Something small of a class, or that avoids one, on nearly every host. */
export function settle(state: CellState, chance: Chance, hostsCount: number, round: number): void {
  const kinds = [{ 'class.a': 1 }, { 'class.a': 1 }, { 'avoid.a': 1 }, { 'class.b': 1, 'avoid.b': 1 }];
  for (let n = 0; n < hostsCount; n++) {
    const scalars = chance.below(3) === 0 ? kinds[chance.below(kinds.length)] : undefined;
    if (scalars === undefined) continue;
    const resources = { ...amounts(10, 10), scalars };
    state.assume(makeClaim(`s${String(round)}-${String(n)}`, `h${String(n)}`, { resources }));
  }
}

/** So many claims of any size on any hosts, each with a part of a device where there is one. */
export function load(state: CellState, chance: Chance, hostsCount: number, claims: number): void {
  for (let n = 0; n < claims; n++) {
    const resources = amounts(500 + 500 * chance.below(7), 512 * (1 + chance.below(15)));
    const gpus = [{ device: 0, milli: 300 + chance.below(700) }];
    const name = `l${String(state.inFlight)}-${String(n)}`;
    state.assume(makeClaim(name, `h${String(chance.below(hostsCount))}`, { resources, gpus }));
  }
}
