import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { Job } from '../../../../src/core/cell/job.ts';
import { formatJobText } from '../../../../src/wire/job-file/format.ts';
import {
  formatProblem,
  JobReader,
  jobToFile,
  parseJobObject,
  parseJobText,
} from '../../../../src/wire/job-file/job-file.ts';

const name = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?$/);
const safe = fc
  .string({ unit: 'grapheme', maxLength: 20 })
  .filter((text) => !text.includes('\0') && !/\p{Surrogate}/u.test(text));
const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined });
const duration = fc.integer({ min: 1, max: 2_000_000_000 }).map((ms) => `${String(ms)}ms`);
const expression = fc.constantFrom(
  'host.os == linux',
  'host.memory >= 3Gi',
  'host.zone in a, b',
  'host.x exists',
  'host != h1',
);

const task = fc.record(
  {
    command: fc.array(safe, { minLength: 1, maxLength: 4 }).filter((args) => args[0] !== ''),
    env: fc.dictionary(
      fc.stringMatching(/^[A-Z_][A-Z0-9_]{0,8}$/),
      fc.oneof(safe, fc.integer(), fc.boolean()),
      { maxKeys: 3 },
    ),
    resources: fc.record(
      {
        cpu: fc.oneof(
          fc.integer({ min: 1, max: 100_000 }).map((milli) => `${String(milli)}m`),
          fc.integer({ min: 1, max: 64 }),
        ),
        memory: fc
          .tuple(fc.integer({ min: 1, max: 999 }), fc.constantFrom('Ki', 'Mi', 'Gi', 'MB'))
          .map(([n, unit]) => `${String(n)}${unit}`),
        disk: fc.integer({ min: 1, max: 999 }).map((n) => `${String(n)}Gi`),
        scalars: fc.dictionary(name, fc.integer({ min: 1, max: 9 }), { maxKeys: 2 }),
      },
      { requiredKeys: [] },
    ),
    limits: fc.record(
      { pids: fc.integer({ min: 1, max: 9_999 }), write: fc.constantFrom('1Mi', '2GB') },
      { requiredKeys: [] },
    ),
    stop: fc.record({ signal: fc.constantFrom('SIGTERM', 'SIGINT'), grace: duration }, { requiredKeys: [] }),
    stdin: fc.boolean(),
    terminal: fc.boolean(),
  },
  { requiredKeys: ['command'] },
);

const group = fc.record(
  {
    count: fc.integer({ min: 5, max: 60 }),
    parallelism: fc.integer({ min: 1, max: 5 }),
    ports: fc
      .uniqueArray(name, { maxLength: 2 })
      .map((labels) => Object.fromEntries(labels.map((label, n) => [label, n === 0 ? 'auto' : 8080]))),
    constraints: fc.array(expression, { maxLength: 3 }),
    affinities: fc.array(fc.record({ expr: expression, weight: fc.integer({ min: 1, max: 100 }) }), {
      maxLength: 2,
    }),
    spread: fc.array(
      fc.oneof(
        fc.record({ by: fc.constantFrom('host', 'host.zone') }),
        fc.record({
          by: fc.constant('host.zone'),
          targets: fc.constantFrom({ z1: 70, z2: 30 }, { z3: 100 }),
        }),
      ),
      { maxLength: 2 },
    ),
    distinct: fc.array(fc.constantFrom('host', 'host.rack'), { maxLength: 2 }),
    class: name,
    avoid: fc.array(fc.oneof(name, fc.record({ class: name, over: fc.constantFrom('host', 'host.rack') })), {
      maxLength: 3,
    }),
    near: fc.uniqueArray(
      fc.record(
        {
          class: fc.constantFrom('near-cache', 'near-web'),
          over: fc.constantFrom('host.rack', 'host.zone'),
          weight: fc.integer({ min: 1, max: 100 }),
        },
        { requiredKeys: ['class'] },
      ),
      { selector: (one) => `${one.class} ${one.over ?? ''}`, maxLength: 3 },
    ),
    tasks: fc.dictionary(name, task, { minKeys: 1, maxKeys: 3 }),
    restart: fc.record(
      { attempts: fc.integer({ min: 0, max: 9 }), window: duration, on: fc.constantFrom('always', 'never') },
      { requiredKeys: [] },
    ),
    reschedule: fc.record(
      {
        attempts: fc.constantFrom(0, 4, 'unlimited'),
        delay: duration,
        onHostLost: fc.boolean(),
        onDrain: fc.boolean(),
      },
      { requiredKeys: [] },
    ),
    deadline: duration,
    disconnect: fc.record({ stopAfter: fc.integer({ min: 15, max: 1000 }).map((n) => `${String(n)}s`) }),
    waitMax: duration,
  },
  { requiredKeys: ['count', 'tasks'] },
);

const file = fc
  .record(
    {
      name,
      namespace: optional(name),
      type: fc.constantFrom('service', 'batch'),
      priority: fc.integer({ min: 0, max: 100 }),
      labels: fc.dictionary(fc.stringMatching(/^[a-z][a-z0-9]{0,5}$/), safe, { maxKeys: 3 }),
      oneOff: fc.boolean(),
      groups: fc.dictionary(name, group, { minKeys: 1, maxKeys: 2 }),
    },
    { requiredKeys: ['name', 'groups'] },
  )
  .map((value) => JSON.parse(JSON.stringify(value)) as unknown);

function must(reading: ReturnType<typeof parseJobObject>): Job {
  if (!reading.ok) throw new Error(reading.problems.map(formatProblem).join('\n'));
  return reading.job;
}

test('a printed job reads as an equal job, from the value and from its YAML and JSON text', () => {
  fc.assert(
    fc.property(file, (value) => {
      const job = must(parseJobObject(value));
      const printed = jobToFile(job);
      expect(must(parseJobObject(printed))).toEqual(job);
      expect(must(parseJobText(stringify(printed), 'a.yaml'))).toEqual(job);
      expect(must(parseJobText(JSON.stringify(printed), 'a.json'))).toEqual(job);
    }),
    { numRuns: 150 },
  );
});

test('a formatted file means the same, and is in its form', () => {
  fc.assert(
    fc.property(file, fc.constantFrom('yaml' as const, 'json' as const), (value, form) => {
      const job = must(parseJobObject(value));
      for (const text of [stringify(value), JSON.stringify(value)]) {
        const once = formatJobText(text, job, form);
        expect(must(parseJobText(once, 'a'))).toEqual(job);
        expect(formatJobText(once, job, form)).toBe(once);
      }
    }),
    { numRuns: 40 },
  );
});

test('defaults are idempotent: what they filled in, they leave alone', () => {
  fc.assert(
    fc.property(file, (value) => {
      const once = jobToFile(must(parseJobObject(value)));
      expect(jobToFile(must(parseJobObject(once)))).toEqual(once);
    }),
    { numRuns: 100 },
  );
});

test('no text makes the reader throw, and every problem has a place within it', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ maxLength: 200 }),
        fc.json(),
        fc.object().map((value) => stringify(value)),
      ),
      (text) => {
        const reading = parseJobText(text, 'x');
        if (reading.ok) return;
        expect(reading.problems.length).toBeGreaterThan(0);
        const lines = text.split('\n');
        for (const problem of reading.problems) {
          expect(problem.line).toBeGreaterThanOrEqual(1);
          expect(problem.line).toBeLessThanOrEqual(lines.length);
          expect(problem.text).not.toMatch(/\n/);
        }
      },
    ),
    { numRuns: 500 },
  );
});

test('a reader of many reads each as if it had come alone', () => {
  const short = fc.record({ command: fc.constant(['x']), count: optional(fc.integer({ min: -1, max: 2 })) });
  const named = fc.tuple(
    fc.oneof(file, short),
    fc.array(fc.oneof(name, fc.string()), { minLength: 1, maxLength: 4 }),
  );
  fc.assert(
    fc.property(fc.array(named, { maxLength: 3 }), (lists) => {
      const reader = new JobReader();
      for (const [value, names] of lists)
        for (const each of names) {
          const one = { ...(value as object), name: each };
          const read = reader.read(one);
          const alone = parseJobObject(one);
          if (alone.ok) expect(read.ok && read.listed.job).toEqual({ ...alone.job, oneOff: false });
          else expect(read).toEqual(alone);
        }
    }),
    { numRuns: 60 },
  );
});
