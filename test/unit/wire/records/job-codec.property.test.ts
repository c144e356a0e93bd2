import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JobRecord } from '../../../../src/core/cell/job.ts';
import { RecordError } from '../../../../src/wire/wire.ts';
import { jobCodec } from '../../../../src/wire/records/job-codec.ts';
import { parseJobObject } from '../../../../src/wire/job-file/job-file.ts';

/** Few words, so that names meet each other within names, commands and namespaces. */
const word = fc.constantFrom('a', 'web', 'web-1', 'batch', 'name', '1', 'x-web');

const task = fc.record({ command: fc.array(word, { minLength: 1, maxLength: 2 }) });

const file = fc.oneof(
  fc.record({ name: word, namespace: word, command: fc.array(word, { minLength: 1, maxLength: 2 }) }),
  fc.record({
    name: word,
    groups: fc.dictionary(word, fc.record({ tasks: fc.dictionary(word, task, { minKeys: 1, maxKeys: 2 }) }), {
      minKeys: 1,
      maxKeys: 2,
    }),
  }),
);

const text = fc
  .record({
    file,
    version: fc.integer({ min: 1, max: 2 }),
    submittedAtMs: fc.oneof(fc.integer({ min: 0, max: 9 }), fc.constant(1_700_000_000_000)),
    traceparent: fc.constantFrom(undefined, '00-ab-cd-01', 'web'),
  })
  .map(({ file, version, submittedAtMs, traceparent }) => {
    const reading = parseJobObject(file);
    if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
    const record: JobRecord = { job: reading.job, version, desired: 'run', submittedAtMs };
    return jobCodec.encode(traceparent === undefined ? record : { ...record, traceparent });
  });

/** A record text with something cut out, or put in. */
const spoilt = fc
  .tuple(text, fc.nat(2_000), fc.nat(30), fc.constantFrom('', '"', 'web', '0', ',"later":1', '}'))
  .map(([whole, from, size, put]) => {
    const at = from % whole.length;
    return whole.slice(0, at) + put + whole.slice(at + size);
  });

const other = jobCodec.encode(
  (() => {
    const reading = parseJobObject({ name: 'other', type: 'service', command: ['quite-other'] });
    if (!reading.ok) throw new Error('the other job cannot be read');
    return { job: reading.job, version: 7, desired: 'stop', submittedAtMs: 7 };
  })(),
);

/** As it is read when nothing alike was read before. */
function alone(one: string): unknown {
  jobCodec.decode(other);
  return outcomeOf(one);
}

function outcomeOf(one: string): unknown {
  try {
    return jobCodec.decode(one);
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    return 'refused';
  }
}

test('I64 a record reads the same after one that is like it as it does alone', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(text, spoilt), { minLength: 2, maxLength: 8 }), (texts) => {
      jobCodec.decode(other);
      const inARow = texts.map(outcomeOf);
      expect(inARow).toEqual(texts.map(alone));
    }),
    { numRuns: 500 },
  );
});

test('jobs that differ by their names alone share what is equal', () => {
  const records = ['job-1', 'job-22'].map((name) => {
    const reading = parseJobObject({ name, command: ['sleep', '1'] });
    if (!reading.ok) throw new Error('the job cannot be read');
    return jobCodec.encode({ job: reading.job, version: 1, desired: 'run', submittedAtMs: name.length });
  });
  const [first, second] = records.map((record) => jobCodec.decode(record));
  const tasks = [first?.job.groups['job-1']?.tasks['job-1'], second?.job.groups['job-22']?.tasks['job-22']];
  expect(second).toMatchObject({ job: { name: 'job-22' }, submittedAtMs: 6 });
  expect(tasks[1]).toMatchObject({ name: 'job-22' });
  expect(tasks[1]?.command).toBe(tasks[0]?.command);
});
