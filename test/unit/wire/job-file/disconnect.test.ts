import { describe, expect, it } from 'vitest';
import { jobToFile, parseJobObject } from '../../../../src/wire/job-file/job-file.ts';
import { jobCodec } from '../../../../src/wire/records/records.ts';

const MOVES = { reschedule: { onHostLost: true } };
const read = (more: object) => parseJobObject({ name: 'db', type: 'service', command: ['serve'], ...more });

function faultOf(more: object): string {
  const reading = read(more);
  return reading.ok ? 'none' : reading.problems.map(({ path, text }) => `${path}: ${text}`).join('\n');
}

describe('disconnect of a job file', () => {
  it.each([
    [{ fence: 'power' }, { fences: ['power'] }],
    [{ fence: ['power', 'network', 'power'] }, { fences: ['power', 'network'] }],
    [
      { fence: ['power', 'self'], stopAfter: '1m' },
      { fences: ['power', 'self'], stopAfterDisconnectMs: 60_000 },
    ],
    [{ stopAfter: '1m' }, { stopAfterDisconnectMs: 60_000 }],
  ])('S0.34 %j is read, stored and printed as it can be read again', (disconnect, wanted) => {
    const reading = read({ ...MOVES, disconnect });
    if (!reading.ok) throw new Error('refused');
    const group = reading.job.groups['db'];
    expect(group).toMatchObject(wanted);
    expect(group !== undefined && 'fences' in group).toBe('fences' in wanted);
    expect(parseJobObject(jobToFile(reading.job))).toMatchObject({ ok: true, job: reading.job });
    const record = { job: reading.job, version: 1, desired: 'run', submittedAtMs: 1 } as const;
    expect(jobCodec.decode(jobCodec.encode(record))).toEqual(record);
  });

  it('S0.34 a fence is for what is replaced, and self for what its host ends', () => {
    const fence = { disconnect: { fence: 'power' } };
    expect(faultOf(fence)).toMatch(/disconnect\.fence: nothing is replaced that would wait/);
    expect(faultOf({ ...fence, type: 'system' })).toMatch(/disconnect\.fence: a system job is not replaced/);
    expect(faultOf({ ...MOVES, disconnect: { fence: 'self' } })).toMatch(/self needs stopAfter/);
    expect(faultOf({ ...MOVES, disconnect: {} })).toMatch(/disconnect: says nothing/);
    expect(faultOf({ ...MOVES, disconnect: { fence: [] } })).toMatch(/disconnect\.fence/);
    expect(faultOf({ ...MOVES, disconnect: { fence: 'No Name' } })).toMatch(/disconnect\.fence/);
    const kept = { reschedule: { onHostLost: true, onReturn: 'oldest' }, ...fence };
    expect(faultOf(kept)).toMatch(/onReturn: disconnect has ended it by then/);
  });
});
