import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MemoryUse } from '../../../../host-agent/tasks/qos.ts';
import { chooseVictim, oomScoreOf, QOS_CLASSES, qosOf } from '../../../../host-agent/tasks/qos.ts';

const MIB = 1024 * 1024;
const use = (id: string, precedence: number, usedMib: number, requestedMib: number): MemoryUse => ({
  ...{ id, precedence, usedBytes: usedMib * MIB, requestedBytes: requestedMib * MIB, startedAtMs: 1 },
});
const uses = fc.array(
  fc.record({
    id: fc.uuid(),
    precedence: fc.nat(100),
    usedBytes: fc.nat(1_000),
    requestedBytes: fc.integer({ min: 1, max: 1_000 }),
    startedAtMs: fc.nat(100),
  }),
  { maxLength: 10 },
);

describe('when memory runs out', () => {
  it('S3.10 the lowest class goes first, then who is furthest above what it asked for, then the youngest', () => {
    const [hog, batch, service] = [
      use('hog', 10, 60, 50),
      use('batch', 50, 300, 50),
      use('web', 90, 500, 600),
    ];
    expect(chooseVictim([service, batch, hog], 900 * MIB)?.id).toBe('hog');
    expect(chooseVictim([service, batch], 900 * MIB)?.id).toBe('batch');
    const other = use('other', 10, 100, 50);
    expect(chooseVictim([hog, other, service, batch], 900 * MIB)?.id).toBe('other');
    const younger = { ...other, id: 'younger', startedAtMs: 2 };
    expect(chooseVictim([other, younger, service, batch], 900 * MIB)?.id).toBe('younger');
  });

  it('S3.10 nobody goes while there is enough, and who is guaranteed and keeps to its word never does', () => {
    fc.assert(
      fc.property(uses, fc.nat(5_000), (all, haveBytes) => {
        const victim = chooseVictim(all, haveBytes);
        const total = all.reduce((sum, one) => sum + one.usedBytes, 0);
        if (total < haveBytes * 0.85) expect(victim).toBeNull();
        if (victim === null) return;
        if (qosOf(victim.precedence) === 'guaranteed')
          expect(victim.usedBytes).toBeGreaterThan(victim.requestedBytes);
        const lower = all.filter(
          (one) => QOS_CLASSES.indexOf(qosOf(one.precedence)) < QOS_CLASSES.indexOf(qosOf(victim.precedence)),
        );
        expect(lower).toEqual([]);
      }),
    );
  });

  it('the kernel would take them in the same order, and no score is below the agent’s own', () => {
    expect([10, 50, 90].map((precedence) => oomScoreOf(precedence, 0))).toEqual([1_000, 500, undefined]);
    expect([10, 50, 90].map((precedence) => oomScoreOf(precedence, 600))).toEqual([
      1_000,
      undefined,
      undefined,
    ]);
  });
});
