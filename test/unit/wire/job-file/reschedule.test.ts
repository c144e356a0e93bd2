import { describe, expect, it } from 'vitest';
import { jobToFile, parseJobObject } from '../../../../src/wire/job-file/job-file.ts';

const read = (more: object) => parseJobObject({ name: 'db', command: ['serve'], ...more });

function policyOf(reschedule: unknown) {
  const reading = read({ reschedule });
  if (!reading.ok) throw new Error(reading.problems.map(({ text }) => text).join());
  return reading.job.groups['db']?.reschedule;
}

function faultOf(more: object): string {
  const reading = read(more);
  return reading.ok ? 'none' : reading.problems.map(({ path, text }) => `${path}: ${text}`).join('\n');
}

describe('the reschedule policy of a job file', () => {
  it('S0.2 S0.3 each cause is a field of its own, and never is the word for none of them', () => {
    expect(policyOf('never')).toMatchObject({ attempts: 0, onHostLost: false, onDrain: false });
    expect(policyOf({ onDrain: false })).toMatchObject({ attempts: null, onHostLost: false, onDrain: false });
    // What is written as the default says nothing new, and no older file changes.
    expect(policyOf({ onDrain: true })).toEqual(policyOf({}));
    expect(policyOf(undefined)).not.toHaveProperty('onDrain');
    expect(policyOf({ onHostLost: true })).toMatchObject({ onHostLost: true });
  });

  it('S0.2 S0.3 S0.38 a word may move what no drain moves, and where it cannot that is refused', () => {
    expect(policyOf({ onDrain: false, onRequest: true })).toMatchObject({ onDrain: false, onRequest: true });
    expect(policyOf({ onRequest: false })).toMatchObject({ onRequest: false });
    expect(policyOf({})).not.toHaveProperty('onRequest');
    const asked = { reschedule: { onRequest: true } };
    expect(faultOf({ ...asked, type: 'batch' })).toMatch(/onRequest: a batch task would begin again/);
    expect(faultOf({ ...asked, type: 'system' })).toMatch(/onRequest: a system job has one allocation/);
    expect(faultOf({ ...asked, gang: true, count: 2 })).toMatch(/onRequest: a gang would begin again/);
    const reading = read(asked);
    if (!reading.ok) throw new Error('refused');
    expect(parseJobObject(jobToFile(reading.job))).toMatchObject(reading);
  });

  it('S0.2 what is no cause is refused with its place', () => {
    expect(faultOf({ reschedule: 'always' })).toMatch(/^reschedule: expected never, or a map such as/);
    expect(faultOf({ reschedule: { onFullMoon: true } })).toMatch(/onFullMoon/);
    expect(faultOf({ reschedule: { onDrain: 'no' } })).toMatch(
      /^reschedule\.onDrain: expected true or false/,
    );
  });

  it('S0.28 data that stays contradicts a job that is to be moved by a drain', () => {
    const data = { volumes: { data: {} }, mounts: { data: {} } };
    expect(faultOf({ ...data, reschedule: { onDrain: true } })).toMatch(
      /reschedule\.onDrain: its volume data stays on the host that is drained/,
    );
    expect(faultOf({ ...data, reschedule: { onRequest: true } })).toMatch(
      /reschedule\.onRequest: its volume data stays on its host/,
    );
    expect(faultOf({ ...data, reschedule: 'never' })).toBe('none');
  });

  it('S0.13 S0.28 which one is kept on return is read, and refused where there is nothing to choose', () => {
    const keeps = (more: object) => ({ reschedule: { onHostLost: true, onReturn: 'oldest' }, ...more });
    expect(policyOf(keeps({}).reschedule)).toMatchObject({ onReturn: 'oldest' });
    expect(policyOf({ onHostLost: true, onReturn: 'newest' })).not.toHaveProperty('onReturn');
    expect(faultOf({ reschedule: { onReturn: 'original' } })).toMatch(/onReturn: nothing is replaced/);
    expect(faultOf({ reschedule: { onHostLost: true, onReturn: 'best' } })).toMatch(
      /must be one of newest, oldest/,
    );
    expect(faultOf(keeps({ type: 'system' }))).toMatch(/a system job is not replaced/);
    expect(faultOf(keeps({ gang: true, count: 2 }))).toMatch(/a gang is kept or begun again/);
    expect(faultOf(keeps({ disconnect: { stopAfter: '1m' } }))).toMatch(/has ended it by then/);
    const data = { volumes: { data: { onLoss: 'recreate' } }, mounts: { data: {} } };
    expect(faultOf(keeps(data))).toMatch(/two of them have different data/);
    const reading = read(keeps({}));
    if (!reading.ok) throw new Error('refused');
    expect(parseJobObject(jobToFile(reading.job))).toMatchObject(reading);
  });

  it('S0.4 it is printed as it can be read again', () => {
    const reading = read({ reschedule: 'never' });
    if (!reading.ok) throw new Error('refused');
    expect(parseJobObject(jobToFile(reading.job))).toMatchObject(reading);
  });
});
