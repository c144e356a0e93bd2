import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LocalLedger } from '../../../../host-agent/allocations/local-ledger.ts';
import type { Claim } from '../../../../src/core/cell/claim.ts';
import type { Host } from '../../../../src/core/host/host.ts';
import { HOST_FACTS } from '../../../support/host-world.ts';

const host: Host = { ...HOST_FACTS, bootId: 'boot', incarnation: 1 };

const claims = fc.record({
  precedence: fc.constantFrom(10, 50, 90),
  cpuMilli: fc.integer({ min: 0, max: 700 }),
  port: fc.option(fc.integer({ min: 20_000, max: 20_003 })),
});
const moves = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('admit' as const),
      claim: claims,
      evicts: fc.array(fc.nat(30), { maxLength: 3 }),
    }),
    fc.record({
      kind: fc.constantFrom('begin' as const, 'release' as const, 'giveWay' as const),
      at: fc.nat(30),
    }),
  ),
  { maxLength: 60 },
);

function claimOf(id: string, wish: { precedence: number; cpuMilli: number; port: number | null }): Claim {
  return {
    id,
    host: host.id,
    precedence: wish.precedence,
    resources: { cpuMilli: wish.cpuMilli, memoryMib: 0, diskMib: 0, scalars: {} },
    gpus: [],
    ports: wish.port === null ? {} : { http: wish.port },
  };
}

describe('what a host gives away', () => {
  it('S3.4 what has begun never exceeds the host, and no port is held twice, whatever comes in whatever order', () => {
    fc.assert(
      fc.property(moves, (all) => {
        const ledger = new LocalLedger(() => host);
        const held = new Map<string, Claim>();
        const begun = new Set<string>();
        let made = 0;
        for (const move of all) {
          const ids = [...held.keys()];
          const at = 'at' in move ? ids[move.at % Math.max(1, ids.length)] : undefined;
          if (move.kind === 'admit') {
            const claim = claimOf(`a${String(made++)}`, move.claim);
            const evicts = move.evicts
              .map((n) => ids[n % Math.max(1, ids.length)])
              .filter((id) => id !== undefined);
            if (ledger.admit(claim, [...new Set(evicts)]) === null) held.set(claim.id, claim);
          } else if (at !== undefined && move.kind === 'begin') {
            if (ledger.begin(at)) begun.add(at);
          } else if (at !== undefined && move.kind === 'release') {
            ledger.release(at);
            held.delete(at);
            begun.delete(at);
          } else if (at !== undefined) ledger.markPreempted(at);
          const used = [...begun].reduce((sum, id) => sum + (held.get(id)?.resources.cpuMilli ?? 0), 0);
          expect(used).toBeLessThanOrEqual(host.capacity.cpuMilli);
          const ports = [...held.values()].flatMap((claim) => Object.values(claim.ports));
          expect(new Set(ports).size).toBe(ports.length);
        }
        for (const id of held.keys()) ledger.release(id);
        const whole = claimOf('whole', { precedence: 50, cpuMilli: host.capacity.cpuMilli, port: 20_000 });
        expect(ledger.admit(whole, [])).toBeNull();
        expect(ledger.begin('whole')).toBe(true);
      }),
    );
  });
});
