import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Job } from '../../../../src/core/cell/job.ts';
import type { FileForm } from '../../../../src/wire/job-file/format.ts';
import { formatJobText } from '../../../../src/wire/job-file/format.ts';
import { parseJobText } from '../../../../src/wire/job-file/job-file.ts';
import { PROJECT_ROOT } from '../../../support/cli.ts';

const EXAMPLES = join(PROJECT_ROOT, 'examples');
const files = readdirSync(EXAMPLES).filter((name) => name.endsWith('.yaml') && name !== 'workload.yaml');

function jobIn(text: string): Job {
  const reading = parseJobText(text, 'a.yaml');
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
  return reading.job;
}

function formatted(text: string, form: FileForm = 'yaml'): string {
  return formatJobText(text, jobIn(text), form);
}

const UNTIDY = `# About the job.
type: batch
# How many.
count: 3   # three
name:   tidy
resources: {memory: 1024Mi, cpu: "0.5"}

# What it runs.
command: [ "sh", '-c', 'echo $A' ]
deadline: 90m
constraints: ["host.memory>=2048Mi"]
env: { A: 1.10, B: on }
`;

const TIDY = `# About the job.
name: tidy
type: batch
# How many.
count: 3 # three
constraints: ['host.memory>=2048Mi']

# What it runs.
command: ['sh', '-c', 'echo $A']
env: { A: 1.10, B: on }
resources: { cpu: 500m, memory: 1Gi }
deadline: 1h30m
`;

describe('one form of job files', () => {
  it('has keys in the order of the schema and amounts in one spelling; comments stay with what they are about', () => {
    expect(formatted(UNTIDY)).toBe(TIDY);
  });

  it.each(files)('the example %s is in it', (name) => {
    const text = readFileSync(join(EXAMPLES, name), 'utf8');
    expect(formatted(text)).toBe(text);
  });

  it.each([...files.map((name) => readFileSync(join(EXAMPLES, name), 'utf8')), UNTIDY])(
    'JSON and back is the same job, and each is in its form',
    (text) => {
      const json = formatted(text, 'json');
      expect(() => JSON.parse(json) as unknown).not.toThrow();
      expect(jobIn(json)).toEqual(jobIn(text));
      expect(formatted(json, 'json')).toBe(json);
      const back = formatted(json);
      expect(jobIn(back)).toEqual(jobIn(text));
      expect(formatted(back)).toBe(back);
    },
  );

  it('leaves the order of a file that names a part twice, which must stand before its other place', () => {
    const tasks = '{ t: { env: &e { A: x }, command: [a] }, u: { command: [b], env: *e } }';
    const text = `name: twice\ngroups: { a: { tasks: ${tasks} } }\n`;
    expect(jobIn(formatted(text))).toEqual(jobIn(text));
    expect(formatted(text)).toContain('*e');
  });
});
