import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JobReader } from '../../../../src/wire/job-file/job-file.ts';
import { ListedJobTexts } from '../../../../src/wire/job-file/listed-job.ts';
import { jobCodec } from '../../../../src/wire/records/records.ts';

// Few letters, so that a name is often found where another one stands as well, or within it.
const name = fc.stringMatching(/^[ab]{1,3}$/);
const short = fc.record({ command: fc.array(name, { minLength: 1, maxLength: 2 }), namespace: name });
const long = fc.record({
  groups: fc.dictionary(
    name,
    fc.record({ tasks: fc.dictionary(name, fc.record({ command: fc.constant(['x']) }), { minKeys: 1 }) }),
    { minKeys: 1, maxKeys: 2 },
  ),
  labels: fc.dictionary(name, name, { maxKeys: 2 }),
});
const list = fc.tuple(fc.oneof(short, long), fc.array(name, { minLength: 1, maxLength: 4 }));
const beside = fc.record(
  { submittedAtMs: fc.nat(), traceparent: fc.stringMatching(/^[0-9a-f-]{1,8}$/) },
  { requiredKeys: ['submittedAtMs'] },
);

test('S0.4 a job of a list has the text that it would have alone', () => {
  let alike = 0;
  fc.assert(
    fc.property(fc.array(list, { maxLength: 3 }), beside, (lists, more) => {
      const reader = new JobReader();
      const rest = { version: 1, desired: 'run', ...more } as const;
      const texts = new ListedJobTexts(rest);
      for (const [file, names] of lists)
        for (const each of names) {
          const reading = reader.read({ ...file, name: each });
          if (!reading.ok) continue;
          const { listed } = reading;
          if (listed.model.name !== listed.name) alike += 1;
          expect(texts.of(listed)).toBe(jobCodec.encode({ job: listed.job, ...rest }));
        }
    }),
    { numRuns: 200 },
  );
  expect(alike).toBeGreaterThan(0);
});
