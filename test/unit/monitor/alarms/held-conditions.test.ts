import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Condition } from '../../../../monitor/alarms/held-conditions.ts';
import { HeldConditions } from '../../../../monitor/alarms/held-conditions.ts';

const AFTER_MS = 100;

function waiting(subject: string): Condition {
  return { kind: 'waiting', subject, detail: `${subject} waits`, afterMs: AFTER_MS };
}

it('a condition is an alarm when it has held for long without a break, and until it ends', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ holds: fc.boolean(), passMs: fc.integer({ min: 1, max: 80 }) }), {
        maxLength: 40,
      }),
      (steps) => {
        const held = new HeldConditions();
        let nowMs = 1_000;
        let sinceMs: number | null = null;
        let stood = false;
        for (const { holds, passMs } of steps) {
          nowMs += passMs;
          sinceMs = holds ? (sinceMs ?? nowMs) : null;
          const stands = sinceMs !== null && nowMs - sinceMs >= AFTER_MS;
          const conditions = holds ? [waiting('default/web')] : [];
          const { begun, over } = held.update(conditions, { wallMs: nowMs, monotonicMs: nowMs });
          expect([begun.length, over.length]).toEqual([Number(stands && !stood), Number(stood && !stands)]);
          expect(held.standing().map((alarm) => alarm.sinceMs)).toEqual(stands ? [sinceMs] : []);
          stood = stands;
        }
      },
    ),
  );
});

it('a clock that is set back makes nothing an alarm, and the oldest comes first', () => {
  const held = new HeldConditions();
  held.update([waiting('default/b')], { wallMs: 9_000, monotonicMs: 0 });
  held.update([waiting('default/b'), waiting('default/a')], { wallMs: 500, monotonicMs: 10 });
  expect(held.standing()).toEqual([]);
  held.update([waiting('default/a'), waiting('default/b')], { wallMs: 600, monotonicMs: 200 });
  expect(held.standing().map(({ subject }) => subject)).toEqual(['default/a', 'default/b']);
});

it('keeps the reason that somebody found out', () => {
  const held = new HeldConditions();
  held.update([waiting('default/web')], { wallMs: 0, monotonicMs: 0 });
  held.update([waiting('default/web')], { wallMs: 100, monotonicMs: 100 });
  const [alarm] = held.standing();
  if (alarm === undefined) throw new Error('no alarm');
  held.explain(alarm, 'no host is large enough');
  held.update([waiting('default/web')], { wallMs: 200, monotonicMs: 200 });
  expect(held.standing()[0]?.detail).toBe('no host is large enough');
});
