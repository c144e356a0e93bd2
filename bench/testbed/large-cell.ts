import type { Host } from '../../src/core/host/host.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import type { PlacementRequest } from '../../src/core/placement/placement-request.ts';
import { NO_SCALARS } from '../../src/core/cell/resources.ts';
import type { SeededRandom } from '../../src/core/random/random.ts';
import { seededRandom } from '../../src/core/random/random.ts';
import type { CellStore, Write } from '../../src/ports/cell-store.ts';
import { fill, makeAllocation, recordsOf } from './fill.ts';
import { amounts, makeGroup, makeRequest } from './plain-request.ts';

const PRECEDENCES = [10, 50, 60];

export interface LargeCell {
  readonly hosts: number;
  readonly allocations: number;
  readonly seed: number;
}

/** Writes a cell as a company would have it: a few kinds of machines in many racks, each with about as many allocations. */
export async function fillLarge(store: CellStore, keys: CellKeys, cell: LargeCell): Promise<void> {
  const random = seededRandom(cell.seed);
  const each = Math.ceil(cell.allocations / cell.hosts);
  await fill(store, cell.hosts, (n) => writesOf(keys, n, each, random));
}

function writesOf(keys: CellKeys, n: number, each: number, random: SeededRandom): Write[] {
  const host = largeHost(n, random);
  const allocations = Array.from({ length: each }, (_, index) => {
    const job = `job-${String(random.below(2_000))}`;
    const precedence = PRECEDENCES[random.below(PRECEDENCES.length)] ?? 50;
    const resources = amounts(50 + random.below(700), 64 + random.below(2_000));
    return makeAllocation({
      id: `01hf7yat00${String(n).padStart(8, '0')}${String(index).padStart(8, '0')}`,
      ...{ host: host.id, precedence, resources, job, group: 'main', index: n, scheduler: 'batch-1' },
      ports: random.below(4) === 0 ? { http: host.portRange.first + index } : {},
      planId: `01hf7yat00${String(n).padStart(16, '0')}`,
    });
  });
  return [{ kind: 'put', key: keys.aliveOf(host.id), value: '{}' }, ...recordsOf(keys, host, allocations)];
}

export function largeHost(n: number, random: SeededRandom): Host {
  const size = 1 << random.below(4);
  const hasGpus = random.below(20) === 0;
  const id = `host-${String(n).padStart(6, '0')}`;
  return {
    id,
    address: `http://10.${String((n >> 16) & 255)}.${String((n >> 8) & 255)}.${String(n & 255)}:7401`,
    capacity: { cpuMilli: 8_000 * size, memoryMib: 32_768 * size, diskMib: 500_000, scalars: NO_SCALARS },
    reserved: { cpuMilli: 200, memoryMib: 512, diskMib: 10_000, scalars: NO_SCALARS },
    gpuModels: hasGpus ? ['A10', 'A10', 'A10', 'A10'] : [],
    portRange: { first: 20_000, last: 32_000 },
    attributes: {
      ...{ os: 'linux', arch: 'x64', 'driver.exec': 'true', 'driver.sandbox': 'true', 'driver.oci': 'false' },
      ...{ kernel: `6.1.${String(random.below(5))}`, class: hasGpus ? 'gpu' : `c${String(size)}` },
      ...{ zone: `z${String(random.below(3))}`, rack: `r${String(Math.floor(n / 40))}`, hostname: id },
    },
    bootId: `b00t0000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    incarnation: 1 + random.below(5),
    agentVersion: '0.1.0',
  };
}

/** Small tasks with the constraints of one of a few jobs. */
export function requestFor(n: number): PlacementRequest {
  const zone = { attribute: 'zone', operator: '==', value: `z${String(n % 3)}`, text: '' } as const;
  return makeRequest({
    group: makeGroup({
      name: 'main',
      constraints: n % 2 === 0 ? [] : [zone],
      spread: n % 5 === 0 ? [{ attribute: 'rack', weight: 50 }] : [],
    }),
  });
}
