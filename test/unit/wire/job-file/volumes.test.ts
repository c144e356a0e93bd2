import { describe, expect, it } from 'vitest';
import { jobToFile, parseJobObject } from '../../../../src/wire/job-file/job-file.ts';
import { allocationCodec, jobCodec } from '../../../../src/wire/records/records.ts';
import { testAllocation } from '../../../support/commit-world.ts';

const JOB = { name: 'db', command: ['server'], mounts: { data: {} } };

function faultOf(volumes: object, more: object = {}): string {
  const reading = parseJobObject({ ...JOB, volumes, ...more });
  return reading.ok ? 'none' : `${reading.problems[0]?.path ?? ''}: ${reading.problems[0]?.text ?? ''}`;
}

describe('volumes of a job file', () => {
  it('S0.25 are filled in, need hosts that keep them, and come back from a printed job and from its record', () => {
    const volumes = { data: {}, seed: { source: 'seed', access: 'shared', readOnly: true } };
    const mounts = { data: { path: '/var/lib/db' }, seed: {} };
    const reading = parseJobObject({ ...JOB, driver: 'sandbox', volumes, mounts });
    if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
    const { job } = reading;
    expect(job.groups['db']?.volumes).toEqual({
      data: { access: 'exclusive', onLoss: 'keep' },
      seed: { source: 'seed', access: 'shared', readOnly: true, onLoss: 'keep' },
    });
    expect(job.groups['db']?.constraints.map(({ text }) => text)).toEqual([
      ...['host.driver.sandbox exists', 'host.volumes exists', 'host.volume.seed exists'],
    ]);
    expect(parseJobObject(jobToFile(job))).toMatchObject({ ok: true, job });
    const record = { job, version: 1, desired: 'run' as const, submittedAtMs: 0 };
    expect(jobCodec.decode(jobCodec.encode(record))).toEqual(record);
    const use = {
      name: 'data',
      claim: 'db.db.data.0',
      id: 'a',
      access: 'exclusive',
      onLoss: 'keep',
    } as const;
    const allocation = testAllocation('a', 'h1', {
      volumes: [use, { ...use, source: 'ssd', readOnly: true }],
    });
    expect(allocationCodec.decode(allocationCodec.encode(allocation))).toEqual(allocation);
  });

  it('S0.25 S0.26 of scope global need hosts with their driver, and move with the job', () => {
    const volumes = { data: { scope: 'global', driver: 'share', size: '1Gi', forceDetach: true } };
    const moves = { reschedule: { onHostLost: true, onDrain: true, onRequest: true } };
    const reading = parseJobObject({ ...JOB, type: 'service', volumes, ...moves });
    if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
    const { job } = reading;
    expect(job.groups['db']?.volumes).toEqual({
      data: { access: 'exclusive', onLoss: 'keep', driver: 'share', sizeMib: 1024, forceDetach: true },
    });
    expect(job.groups['db']?.constraints.map(({ text }) => text)).toContain(
      'host.volume-driver.share exists',
    );
    expect(parseJobObject(jobToFile(job))).toMatchObject({ ok: true, job });
    const record = { job, version: 1, desired: 'run' as const, submittedAtMs: 0 };
    expect(jobCodec.decode(jobCodec.encode(record))).toEqual(record);
    const use = { name: 'data', claim: 'db', id: 'a', access: 'exclusive', onLoss: 'keep' } as const;
    const brought = { ...use, driver: 'share', sizeMib: 64, create: true, force: true } as const;
    const allocation = testAllocation('a', 'h1', { volumes: [brought] });
    expect(allocationCodec.decode(allocationCodec.encode(allocation))).toEqual(allocation);
  });

  it('S0.26 S0.28 fields of the other scope are refused, with the remedy', () => {
    const share = { scope: 'global', driver: 'share' };
    expect(faultOf({ data: share })).toBe('none');
    expect(faultOf({ data: { ...share, source: 'ssd' } })).toMatch(
      /source: a folder that one host announces/,
    );
    expect(faultOf({ data: { ...share, onLoss: 'recreate' } })).toMatch(
      /onLoss: its data is lost with no host/,
    );
    expect(faultOf({ data: { ...share, access: 'shared', forceDetach: true } })).toMatch(
      /forceDetach: who shares/,
    );
    for (const field of [{ driver: 'share' }, { size: '1Gi' }, { forceDetach: true }])
      expect(faultOf({ data: field })).toMatch(/data on one host has no driver: write scope: global too/);
  });

  it('S0.28 what contradicts itself is refused with the reason and the remedy', () => {
    const moved = { reschedule: { onHostLost: true } };
    expect(faultOf({ data: {} }, moved)).toMatch(
      /reschedule\.onHostLost: its volume data stays on the lost host: write/,
    );
    expect(faultOf({ data: { onLoss: 'recreate' } }, moved)).toBe('none');
    expect(faultOf({ data: { onLoss: 'recreate' } })).toMatch(/onLoss: nothing is begun again unless/);
    expect(faultOf({ data: {} }, { update: { strategy: 'start-first' } })).toMatch(/would have no data/);
    expect(faultOf({ data: {} }, { type: 'system' })).toMatch(/a system job has one allocation on every/);
    expect(faultOf({ data: { claim: 'pg' } }, { count: 2 })).toMatch(/only one of 2 could have it/);
    expect(faultOf({ data: { access: 'shared' } }, { gang: true, count: 2 })).toMatch(/no common data/);
    expect(faultOf({ data: { scope: 'global' } })).toMatch(
      /takes a driver that brings it to hosts: write driver: NAME/,
    );
    expect(faultOf({ other: {} })).toMatch(/no task mounts it/);
    expect(faultOf({}, {})).toMatch(/the group has no volume "data"/);
    expect(faultOf({ data: {} }, { mounts: { data: { path: '/data' } } })).toMatch(/MOORAGE_VOLUME_/);
    expect(faultOf({ data: {} }, { driver: 'sandbox', mounts: { data: { path: '/a/../b' } } })).toMatch(
      /absolute path/,
    );
    expect(faultOf({ data: {} }, { mounts: { data: { readOnly: true } } })).toMatch(
      /cannot be kept from writing/,
    );
  });
});
