import fc from 'fast-check';
import type { Claim } from '../../../../src/core/cell/claim.ts';
import { refusalOf } from '../../../../src/core/placement/filters.ts';
import type { Host } from '../../../../src/core/host/host.ts';
import type { Ledger } from '../../../../src/core/fit/ledger.ts';
import { fitShortfall } from '../../../../src/core/fit/fit.ts';
import { EMPTY_LEDGER, withClaim, withoutUse } from '../../../../src/core/fit/ledger.ts';
import { CellState } from '../../../../src/core/cell-state/cell-state.ts';
import { PoolBook } from '../../../../src/core/quota/pool-book.ts';
import type { PlacementRequest } from '../../../../src/core/placement/placement-request.ts';
import { amounts, makeClaim, makeHost, makeRequest } from '../placement/placement-fixtures.ts';

const anyScalars = fc.constantFrom<Readonly<Record<string, number>>>(
  ...[{}, {}, {}, { cache: 1 }, { cache: 2 }],
  ...[{ 'class.a': 1 }, { 'avoid.a': 1 }, { cache: 1, 'class.b': 1, 'avoid.a': 1 }],
);

export const anyClaim = (host: string): fc.Arbitrary<Claim> =>
  fc
    .record({
      precedence: fc.constantFrom(0, 10, 20, 50, 80),
      cpu: fc.constantFrom(100, 500, 1000, 2500),
      memory: fc.constantFrom(64, 1024, 4096),
      gpu: fc.constantFrom(0, 0, 300, 700, 1000),
      device: fc.integer({ min: 0, max: 1 }),
      scalars: anyScalars,
      port: fc.constantFrom(0, 0, 20_000, 20_001),
    })
    .map(({ precedence, cpu, memory, gpu, device, scalars, port }) =>
      makeClaim('', host, {
        precedence,
        resources: { ...amounts(cpu, memory), scalars },
        gpus: gpu > 0 ? [{ device, milli: gpu }] : [],
        ports: port > 0 ? { http: port } : {},
      }),
    );

export const makeFullHost = (id: string): Host =>
  makeHost(id, {
    capacity: { ...amounts(4000, 8192, 100), scalars: { cache: 2 } },
    gpuModels: ['T4', 'T4'],
    portRange: { first: 20_000, last: 20_002 },
  });

/** As many of the claims as fit, one after the other. */
export function filled(
  host: Host,
  claims: readonly Claim[],
): { readonly ledger: Ledger; readonly running: Claim[] } {
  let ledger = EMPTY_LEDGER;
  const running: Claim[] = [];
  for (const [n, claim] of claims.entries()) {
    const named = { ...claim, id: `${host.id}-a${String(n)}` };
    if (fitShortfall(host, ledger, named) !== null) continue;
    ledger = withClaim(ledger, named);
    running.push(named);
  }
  return { ledger, running };
}

export const anyRequest: fc.Arbitrary<PlacementRequest> = fc
  .record({
    precedence: fc.constantFrom(0, 10, 50, 90),
    cpu: fc.constantFrom(100, 1000, 3000, 4000),
    memory: fc.constantFrom(64, 2048, 8192),
    scalars: anyScalars,
    gpu: fc.constantFrom(
      null,
      null,
      { count: 1, milliEach: 800, models: [] },
      { count: 2, milliEach: 500, models: [] },
    ),
    ports: fc.constantFrom({}, {}, { http: 20_000 }, { http: 0 }),
  })
  .map(({ precedence, cpu, memory, scalars, gpu, ports }) =>
    makeRequest({
      precedence,
      resources: { ...amounts(cpu, memory), scalars },
      gpu,
      ports,
    }),
  );

export function fits(host: Host, ledger: Ledger, request: PlacementRequest): boolean {
  const view = {
    host,
    ledger,
    alive: true,
    paused: null,
    pools: new PoolBook(),
    domains: new CellState().index.domains,
  };
  return refusalOf(view, request, new Map()) === null;
}

export const without = (ledger: Ledger, claims: readonly Claim[]): Ledger =>
  claims.reduce(withoutUse, ledger);
