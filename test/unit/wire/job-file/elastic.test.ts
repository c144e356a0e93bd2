import { describe, expect, it } from 'vitest';
import { jobToFile, parseJobObject } from '../../../../src/wire/job-file/job-file.ts';
import { jobCodec } from '../../../../src/wire/records/records.ts';

const read = (more: object) => parseJobObject({ name: 'map', type: 'batch', command: ['work'], ...more });

function jobOf(more: object) {
  const reading = read(more);
  if (!reading.ok) throw new Error(reading.problems.map(({ text }) => text).join());
  return reading.job;
}

function faultOf(more: object): string {
  const reading = read(more);
  return reading.ok ? 'none' : reading.problems.map(({ path, text }) => `${path}: ${text}`).join('\n');
}

const RANGE = { count: { min: 2, max: 10 } };

describe('a range of instances in a job file', () => {
  it('is a minimum and a maximum, for the elastic kind of scheduler unless another one is named', () => {
    const job = jobOf(RANGE);
    expect(job).toMatchObject({ scheduler: 'elastic', groups: { map: { count: 2, countMax: 10 } } });
    expect(jobOf({ ...RANGE, scheduler: 'batch' }).scheduler).toBe('batch');
    expect(jobToFile(job)).toMatchObject({ scheduler: 'elastic', groups: { map: RANGE } });
    expect(parseJobObject(jobToFile(job))).toMatchObject({ ok: true, job });
    const record = { job, version: 1, desired: 'run', submittedAtMs: 1 } as const;
    expect(jobCodec.decode(jobCodec.encode(record))).toEqual(record);
  });

  it('of one number says nothing new', () => {
    expect(jobOf({ count: { min: 3, max: 3 } })).toEqual(jobOf({ count: 3 }));
    expect(jobOf({ count: 3 }).groups['map']).not.toHaveProperty('countMax');
  });

  it.each<readonly [object, RegExp]>([
    [{ count: { min: 11, max: 10 } }, /^count\.min: more than max, which is 10$/],
    [{ count: { min: 0, max: 10 } }, /^count\.min: Too small: must be at least 1$/],
    [{ count: { min: 2 } }, /^count\.max: /],
    [{ count: 'many' }, /^count: expected a whole number from 1 to 100000, or \{ min: 2, max: 10 \}$/],
    [{ ...RANGE, type: 'service' }, /^count: a service does not grow .* write a number, or type: batch$/],
    [{ ...RANGE, type: 'system' }, /^count: a system job has one allocation on every matching host/],
    [{ ...RANGE, gang: true }, /^gang: a gang starts whole; remove this field, or write count as a number$/],
    [{ ...RANGE, parallelism: 2 }, /^parallelism: min and max say how many run at once; remove/],
    [
      { ...RANGE, volumes: { data: { claim: 'one' } }, mounts: { data: {} } },
      /^volumes\.data\.claim: only one of 10 could have it/,
    ],
  ])('%o is refused with place and remedy', (more, fault) => {
    expect(faultOf(more)).toMatch(fault);
  });
});
