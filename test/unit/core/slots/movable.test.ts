import { describe, expect, it } from 'vitest';
import type { Group, ReschedulePolicy } from '../../../../src/core/cell/job.ts';
import { whyFixed, whyNotRebalanced } from '../../../../src/core/slots/movable.ts';
import { makeGroup } from '../placement/placement-fixtures.ts';

const SERVICE = { type: 'service' } as const;
const BASE = makeGroup({ count: 2 });

function group(reschedule: Partial<ReschedulePolicy>, more: Partial<Group> = {}): Group {
  return { ...BASE, reschedule: { ...BASE.reschedule, ...reschedule }, ...more };
}

describe('S0.38 what may be moved', () => {
  it('S0.3 by its policy: a drain that moves it lets a word move it, unless it says otherwise', () => {
    expect(whyFixed(SERVICE, group({}))).toBeNull();
    expect(whyFixed(SERVICE, group({ onDrain: false }))).toContain('onDrain is false');
    expect(whyFixed(SERVICE, group({ onDrain: false, onRequest: true }))).toBeNull();
    expect(whyFixed(SERVICE, group({ onRequest: false }))).toBe('reschedule.onRequest is false');
  });

  it('by what it is: never data, gangs, batch tasks or system jobs', () => {
    expect(whyFixed(SERVICE, group({}, { volumes: { data: {} as never } }))).toContain('data');
    expect(whyFixed(SERVICE, group({}, { gang: true }))).toContain('gang');
    expect(whyFixed({ type: 'batch' }, group({}))).toContain('batch');
    expect(whyFixed({ type: 'system' }, group({}))).toContain('system');
  });

  it('S0.40 without a word for it: not the only one of a group, unless another one starts first', () => {
    expect(whyNotRebalanced(SERVICE, group({}))).toBeNull();
    expect(whyNotRebalanced(SERVICE, group({}, { count: 1 }))).toContain('only allocation');
    expect(whyNotRebalanced(SERVICE, group({}, { update: { parallelism: 2 } }))).toContain('at once');
    expect(
      whyNotRebalanced(SERVICE, group({}, { count: 1, update: { strategy: 'start-first' } })),
    ).toBeNull();
    expect(whyNotRebalanced(SERVICE, group({ onRequest: false }))).toContain('onRequest');
  });
});
