import { describe, expect, it } from 'vitest';
import { jobToFile, parseJobObject } from '../../../../src/wire/job-file/job-file.ts';
import { jobCodec } from '../../../../src/wire/records/records.ts';

const JOB = { name: 'web', ports: { http: 'auto' }, command: ['server'] };

function faultOf(checks: object, more: object = {}): string {
  const reading = parseJobObject({ ...JOB, ...more, checks });
  return reading.ok ? 'none' : `${reading.problems[0]?.path ?? ''}: ${reading.problems[0]?.text ?? ''}`;
}

describe('checks of a job file', () => {
  it('are filled in, and come back from a printed job and from its record', () => {
    const checks = {
      web: { http: '/readyz', interval: '5s', for: 'alive', startPeriod: '1m' },
      port: { tcp: 'http' },
      inside: { command: ['pg_isready'] },
      word: { file: 'ready', successThreshold: 2 },
    };
    const reading = parseJobObject({ ...JOB, checks });
    if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
    const { job } = reading;
    expect(job.groups['web']?.tasks['web']?.checks?.['web']).toEqual({
      probe: { kind: 'http', port: 'http', path: '/readyz' },
      ...{ purpose: 'alive', intervalMs: 5_000, timeoutMs: 2_000, successThreshold: 1, failureThreshold: 3 },
      startPeriodMs: 60_000,
    });
    expect(parseJobObject(jobToFile(job))).toMatchObject({ ok: true, job });
    const record = { job, version: 1, desired: 'run' as const, submittedAtMs: 0 };
    expect(jobCodec.decode(jobCodec.encode(record))).toEqual(record);
  });

  it('bad ones are refused with the place and the remedy', () => {
    expect(faultOf({ web: {} })).toMatch(/checks\.web: needs one of http, tcp, command and file/);
    expect(faultOf({ web: { http: '/', tcp: 'http' } })).toMatch(/needs one of/);
    expect(faultOf({ web: { tcp: 'admin' } })).toMatch(
      /checks\.web\.tcp: the group has no port "admin"; its ports: http/,
    );
    expect(faultOf({ web: { http: '/' } }, { ports: {} })).toMatch(/the group has 0 ports: write which/);
    expect(faultOf({ web: { http: 'readyz' } })).toMatch(/expected a path such as/);
    expect(faultOf({ web: { file: '../../etc/passwd' } })).toMatch(/expected one name/);
    expect(faultOf({ web: { tcp: 'http', interval: '10ms' } })).toMatch(/must be at least 100ms/);
    expect(faultOf({ web: { tcp: 'http', timeout: '2m' } })).toMatch(/must be at most 1m/);
    expect(faultOf({ web: { tcp: 'http', failureThreshold: 0 } })).toMatch(/failureThreshold/);
    expect(faultOf({ web: { file: 'x', port: 'http' } })).toMatch(/only a check with http has a port/);
  });
});

describe('the update policy of a job file', () => {
  it('comes back from a printed job and from its record, and nothing is filled in', () => {
    const update = { minHealthy: '2s', parallelism: 2, strategy: 'start-first', canary: 1, autoRevert: true };
    const more = { healthyDeadline: '1m', progressDeadline: '2m', autoPromote: true };
    const reading = parseJobObject({ ...JOB, count: 3, update: { ...update, ...more } });
    if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
    const { job } = reading;
    expect(job.groups['web']?.update).toEqual({
      ...{ parallelism: 2, strategy: 'start-first', canary: 1, autoPromote: true, autoRevert: true },
      ...{ healthyDeadlineMs: 60_000, progressDeadlineMs: 120_000 },
    });
    expect(parseJobObject(jobToFile(job))).toMatchObject({ ok: true, job });
    const record = { job, version: 1, desired: 'run' as const, submittedAtMs: 0 };
    expect(jobCodec.decode(jobCodec.encode(record))).toEqual(record);
    const plain = parseJobObject(JOB);
    expect(plain.ok && plain.job.groups['web']).not.toHaveProperty('update');
  });

  it('contradictions are refused with the reason', () => {
    const of = (update: object, more: object = {}) => faultOf({}, { update, ...more });
    expect(of({ canary: 4 }, { count: 3 })).toMatch(/update\.canary: more than count, which is 3/);
    expect(of({ autoPromote: true })).toMatch(/autoPromote: needs canary/);
    expect(of({ minHealthy: '1m', healthyDeadline: '30s' })).toMatch(/must be more than minHealthy/);
    expect(of({ healthyDeadline: '5m', progressDeadline: '1m' })).toMatch(
      /must not be less than healthyDeadline/,
    );
    expect(of({ strategy: 'start-first' }, { gang: true })).toMatch(/a gang starts whole/);
    expect(of({ canary: 1 }, { type: 'batch' })).toMatch(/a batch job is not updated one by one/);
    expect(of({ strategy: 'blue-green' })).toMatch(/update\.strategy/);
    expect(of({ parallelism: 0 })).toMatch(/update\.parallelism/);
  });
});
