import { describe, expect, it } from 'vitest';
import type { AuditRecord } from '../../../../src/core/access/audit.ts';
import { AUDIT_AGE_MAX_MS, surplusRecords } from '../../../../src/core/access/audit.ts';

function record(by: string, n: number, atMs = n): AuditRecord {
  const id = String(n).padStart(6, '0');
  return { id, atMs, monitor: 'm', requestId: id, by, act: 'stop', target: 'x' };
}

/** `count` records each, in turns, oldest first. */
function records(counts: Readonly<Record<string, number>>): AuditRecord[] {
  let n = 0;
  const all: AuditRecord[] = [];
  for (let round = 0; round < Math.max(...Object.values(counts)); round++)
    for (const [by, count] of Object.entries(counts)) if (round < count) all.push(record(by, n++));
  return all;
}

function keptOf(all: readonly AuditRecord[], max: number): Record<string, number> {
  const surplus = new Set(surplusRecords(all, 0, max));
  const kept: Record<string, number> = {};
  for (const one of all) if (!surplus.has(one)) kept[one.by] = (kept[one.by] ?? 0) + 1;
  return kept;
}

describe('the bounds of the audit', () => {
  it('keeps all while there is room', () => {
    expect(surplusRecords(records({ a: 3, b: 7 }), 0, 10)).toEqual([]);
  });

  it('who does much pushes out its own alone', () => {
    expect(keptOf(records({ ann: 4, flood: 1_000, bob: 5 }), 100)).toEqual({ ann: 4, flood: 91, bob: 5 });
    expect(keptOf(records({ one: 500, two: 500, bob: 5 }), 100)).toEqual({ one: 47, two: 47, bob: 5 });
  });

  it('the oldest of them go', () => {
    const all = records({ flood: 10 });
    expect(surplusRecords(all, 0, 4)).toEqual(all.slice(0, 6));
  });

  it('what is too old goes, however little it is', () => {
    const all = [record('ann', 1, 0), record('ann', 2, 1_000)];
    expect(surplusRecords(all, AUDIT_AGE_MAX_MS + 500)).toEqual([all[0]]);
  });
});
