import { beforeEach, describe, expect, it } from 'vitest';
import type { Allocation } from '../../../../../src/core/cell/allocation.ts';
import type { Job } from '../../../../../src/core/cell/job.ts';
import type { Eligibility } from '../../../../../src/core/host/host.ts';
import { eligibilityCodec } from '../../../../../src/wire/records/records.ts';
import { HandRun } from '../../../../support/hand-run.ts';
import { KEYS } from '../../../../support/history-world.ts';

let run: HandRun;
let job: Job;
let old: Allocation;

beforeEach(() => {
  run = new HandRun();
  job = run.job('single', {
    type: 'service',
    reschedule: { onHostLost: true },
    disconnect: { fence: 'power' },
  });
  run.submit(job);
  old = run.allocation(job);
  run.commit(true, old);
  run.verdict('host-1', 'lost', 1);
  run.mark(old, 'stop');
});

/** Its verdicts come sooner than monitors give them (I18). */
const broken = (): string[] => run.broken({ liveness: null, least: {} }).filter((name) => name !== 'I18');

function fence(name: string, confirmed: boolean, more: Partial<Eligibility> = {}): void {
  const counter = more.counter ?? 1;
  const fences = { [name]: { confirmed, counter, detail: '', by: 'monitor-1', atMs: 1 } };
  const record = {
    state: 'lost',
    reason: '',
    by: 'monitor-1',
    sinceMs: 1,
    counter,
    fences,
    ...more,
  } as const;
  run.put('monitor-1', KEYS.eligibilityOf('host-1'), eligibilityCodec.encode(record), 'same');
}

function replace(): void {
  run.commit(true, run.allocation(job, { id: 'two', host: 'host-2', attempt: 2, replaces: old.id }));
}

describe('what wants a fence', () => {
  it('I72 is replaced when it has confirmed', () => {
    fence('power', true);
    replace();
    expect(broken()).toEqual([]);
  });

  it('I72 is not replaced before', () => {
    replace();
    expect(broken()).toContain('I72');
  });

  it.each([
    ['a refusal', () => fence('power', false)],
    ['another fence', () => fence('network', true)],
    ['a verdict before its claim', () => fence('power', true, { counter: 0 })],
  ])('I72 nor by %s', (_, said) => {
    said();
    replace();
    expect(broken()).toContain('I72');
  });

  it('I72 is replaced when its host was removed', () => {
    fence('other', false, { confirmed: 'removed' });
    replace();
    expect(broken()).toEqual([]);
  });

  it('I72 does not run beside its successor, whatever a fence has confirmed', () => {
    run = new HandRun();
    run.submit(job);
    old = run.allocation(job);
    run.launch(old, job);
    run.verdict('host-1', 'lost', 1);
    run.mark(old, 'stop');
    fence('power', true);
    run.launch(run.allocation(job, { id: 'two', host: 'host-2', attempt: 2, replaces: old.id }), job);
    expect(broken()).toEqual(['I72']);
  });
});
