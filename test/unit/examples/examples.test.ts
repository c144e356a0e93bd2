import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { formatProblem, parseJobText } from '../../../src/wire/job-file/job-file.ts';
import { parseWorkloadText } from '../../../src/wire/workload/workload.ts';

const WORKLOAD = 'workload.yaml';
const folder = join(import.meta.dirname, '..', '..', '..', 'examples');
const files = readdirSync(folder).filter((file) => file.endsWith('.yaml') && file !== WORKLOAD);

test.each(files)('examples/%s is valid', (file) => {
  const reading = parseJobText(readFileSync(join(folder, file), 'utf8'), file);
  expect(reading.ok ? [] : reading.problems.map(formatProblem)).toEqual([]);
});

test('there is one of each kind', () => {
  expect(files).toEqual(
    expect.arrayContaining([
      'hello.yaml',
      'service.yaml',
      'batch.yaml',
      'gang.yaml',
      'conflict-left.yaml',
      'conflict-right.yaml',
    ]),
  );
});

test('examples/workload.yaml is a valid workload', () => {
  const reading = parseWorkloadText(readFileSync(join(folder, WORKLOAD), 'utf8'), WORKLOAD);
  expect(reading.ok ? [] : reading.problems.map(formatProblem)).toEqual([]);
});
