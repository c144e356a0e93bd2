import type { Allocation } from '../../src/core/cell/allocation.ts';
import type { Host } from '../../src/core/host/host.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import type { Ledger } from '../../src/core/fit/ledger.ts';
import { EMPTY_LEDGER, withClaim } from '../../src/core/fit/ledger.ts';
import type { PlacementRequest } from '../../src/core/placement/placement-request.ts';
import { NO_SCALARS } from '../../src/core/cell/resources.ts';
import type { SeededRandom } from '../../src/core/random/random.ts';
import { seededRandom } from '../../src/core/random/random.ts';
import type { CellStore, Write } from '../../src/ports/cell-store.ts';
import { allocationCodec, hostCodec, ledgerCodec } from '../../src/wire/records/records.ts';
import { makeGroup, makeRequest } from './plain-request.ts';

const WRITERS = 8;
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
  let pending: Write[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < cell.hosts || pending.length > 0) {
      while (next < cell.hosts && pending.length < store.limits.operationsMax)
        pending.push(...writesOf(keys, next++, each, random));
      const writes = pending.slice(0, store.limits.operationsMax);
      pending = pending.slice(writes.length);
      const { outcome } = await store.attempt({ compares: [], writes, readBack: [] });
      if (outcome !== 'applied') throw new Error(`the cell could not be filled: ${outcome}`);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, lane));
}

function writesOf(keys: CellKeys, n: number, each: number, random: SeededRandom): Write[] {
  const host = largeHost(n, random);
  let ledger: Ledger = EMPTY_LEDGER;
  const writes: Write[] = [
    { kind: 'put', key: keys.host(host.id), value: hostCodec.encode(host) },
    { kind: 'put', key: keys.aliveOf(host.id), value: '{}' },
  ];
  for (let index = 0; index < each; index++) {
    const job = `job-${String(random.below(2_000))}`;
    const port = host.portRange.first + index;
    const allocation: Allocation = {
      id: `01hf7yat00${String(n).padStart(8, '0')}${String(index).padStart(8, '0')}`,
      host: host.id,
      precedence: PRECEDENCES[random.below(PRECEDENCES.length)] ?? 50,
      resources: {
        cpuMilli: 50 + random.below(700),
        memoryMib: 64 + random.below(2_000),
        diskMib: 0,
        scalars: NO_SCALARS,
      },
      gpus: [],
      ports: random.below(4) === 0 ? { http: port } : {},
      ...{
        namespace: 'default',
        job,
        jobVersion: 1,
        group: 'main',
        index: n,
        attempt: 1,
        scheduler: 'batch-1',
      },
      ...{
        desired: 'run',
        planId: `01hf7yat00${String(n).padStart(16, '0')}`,
        createdAtMs: 1_700_000_000_000,
      },
      epoch: { incarnation: '6b1e7a3c-0000-4000-8000-000000000000', counter: 0 },
    };
    ledger = withClaim(ledger, allocation);
    writes.push({
      kind: 'put',
      key: keys.allocation('default', job, allocation.id),
      value: allocationCodec.encode(allocation),
    });
  }
  writes.push({ kind: 'put', key: keys.ledger(host.id), value: ledgerCodec.encode(ledger) });
  return writes;
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
