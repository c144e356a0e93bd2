import { describe, expect, it } from 'vitest';
import { askOf } from '../../../../src/core/cell/ask.ts';
import { isSameWork } from '../../../../src/core/slots/slot-table.ts';
import { startRequest } from '../../../../src/wire/api/host-requests.ts';
import { jobToFile, parseJobObject } from '../../../../src/wire/job-file/job-file.ts';
import { jobCodec } from '../../../../src/wire/records/records.ts';
import { someStart } from '../../../support/host-orders.ts';

const read = (more: object) => parseJobObject({ name: 'db', type: 'batch', command: ['work'], ...more });

function jobOf(more: object) {
  const reading = read(more);
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
  return reading.job;
}

function faultOf(more: object): string {
  const reading = read(more);
  return reading.ok ? 'none' : reading.problems.map(({ path, text }) => `${path}: ${text}`).join('\n');
}

describe('S3.17: classes in a job file', () => {
  it.each([
    [{ class: 'latency' }, { class: 'latency' }],
    [
      { class: 'db', avoid: ['noisy', 'noisy'] },
      { class: 'db', avoid: [{ class: 'noisy' }] },
    ],
    [
      { avoid: ['noisy', { class: 'noisy', over: 'host.rack' }, { class: 'db', over: 'host' }] },
      { avoid: [{ class: 'noisy' }, { class: 'noisy', over: 'rack' }, { class: 'db' }] },
    ],
    [
      { class: 'web', near: ['cache', { class: 'web', over: 'host.rack', weight: 80 }] },
      {
        near: [
          { class: 'cache', weight: 50 },
          { class: 'web', over: 'rack', weight: 80 },
        ],
      },
    ],
    [
      {
        avoid: ['cache'],
        near: [
          { class: 'cache', over: 'host.rack' },
          { class: 'db', over: 'host' },
        ],
      },
      {
        near: [
          { class: 'cache', over: 'rack', weight: 50 },
          { class: 'db', weight: 50 },
        ],
      },
    ],
  ])('%j is read, stored and printed as it can be read again', (says, wanted) => {
    const job = jobOf(says);
    expect(job.groups['db']).toMatchObject(wanted);
    expect(parseJobObject(jobToFile(job))).toMatchObject({ ok: true, job });
    const record = { job, version: 1, desired: 'run', submittedAtMs: 1 } as const;
    expect(jobCodec.decode(jobCodec.encode(record))).toEqual(record);
  });

  it('who says nothing has no field of it', () => {
    const group = jobOf({ avoid: [], near: [] }).groups['db'];
    expect(group !== undefined && ('avoid' in group || 'near' in group || 'class' in group)).toBe(false);
  });

  it('refuses what is no class, and no attribute', () => {
    expect(faultOf({ class: 'No Name' })).toMatch(/^class/);
    expect(faultOf({ avoid: ['a.b'] })).toMatch(/avoid/);
    expect(faultOf({ avoid: [{ class: 'a', over: 'rack' }] })).toMatch(/did you mean "host\.rack"/);
    expect(faultOf({ antiAffinity: ['a'] })).toMatch(/avoid/);
    expect(faultOf({ avoid: Array.from({ length: 9 }, (_, n) => `c${String(n)}`) })).toMatch(/avoid/);
  });

  it('refuses a negative weight, which is avoid, and wishes that no place fulfils or that are said twice', () => {
    const weighs = (weight: number) => faultOf({ near: [{ class: 'a', weight }] });
    expect(weighs(1)).toBe('none');
    for (const weight of [-1, -100, 0])
      expect(weighs(weight)).toMatch(/near.*at least 1: to stay away from a class is avoid/);
    expect(weighs(101)).toMatch(/near/);
    expect(faultOf({ near: ['a', { class: 'a', over: 'host', weight: 3 }] })).toMatch(/near a is said twice/);
    const far = [{ class: 'a', over: 'host.rack' }];
    for (const near of [['a'], far])
      expect(faultOf({ avoid: far, near })).toMatch(/avoid keeps it from a there/);
    expect(faultOf({ avoid: ['a'], near: far })).toBe('none');
    expect(faultOf({ near: ['a', 'b', 'c', 'd', 'e'] })).toMatch(/near/);
    expect(faultOf({ type: 'system', near: ['a'] })).toMatch(/near: a system job has one/);
    expect(faultOf({ podAffinity: ['a'] })).toMatch(/near/);
  });

  it('another wish to be near is the same work, and no part of the claim', () => {
    const before = jobOf({ class: 'a', near: ['b'] });
    expect(isSameWork(before, jobOf({ class: 'a', near: ['c', { class: 'a', weight: 7 }] }), 'db')).toBe(
      true,
    );
    const [group] = Object.values(before.groups);
    expect(group === undefined ? {} : askOf(group).resources.scalars).toEqual({ 'class.a': 1 });
  });

  it('another class, or another one to avoid, is other work', () => {
    const before = jobOf({ class: 'a', avoid: ['b'] });
    expect(isSameWork(before, jobOf({ class: 'a', avoid: ['b'] }), 'db')).toBe(true);
    for (const other of [{ class: 'a' }, { avoid: ['b'] }, { class: 'a', avoid: ['c'] }])
      expect(isSameWork(before, jobOf(other), 'db')).toBe(false);
  });

  it('a host takes the longest claim that a file can make', () => {
    const long = (letter: string) => letter.repeat(63);
    const avoid = Array.from('abcdefgh', (letter) => ({ class: long(letter), over: `host.${long('r')}` }));
    const group = jobOf({ class: long('z'), avoid, resources: { scalars: { licence: 1 } } }).groups['db'];
    if (group === undefined) throw new Error('no group');
    const { resources } = askOf(group);
    expect(Object.keys(resources.scalars)).toHaveLength(18);
    expect(startRequest.safeParse(someStart({ allocation: { resources } })).success).toBe(true);
  });
});
