import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { JobRecord } from '../../../../src/core/cell/job.ts';
import { RecordError } from '../../../../src/wire/wire.ts';
import { jobCodec, jobRecordSchema } from '../../../../src/wire/records/job-codec.ts';
import { parseJobObject } from '../../../../src/wire/job-file/job-file.ts';
import { startRequest } from '../../../../src/wire/api/host-requests.ts';
import { quickCheck } from '../../../../src/wire/codec/quick-check.ts';
import { resources } from '../../../../src/wire/codec/codec.ts';
import { someStart, someTask } from '../../../support/host-orders.ts';

function recordOf(file: object): unknown {
  const reading = parseJobObject({ name: 'web', command: ['x'], ...file });
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
  return { job: reading.job, version: 1, desired: 'run', submittedAtMs: 5 };
}

/** As it comes out of a text. */
function copyOf<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** Something put in the place of a part of the value, or a field added or taken away. */
function changed(value: unknown, path: readonly number[], put: unknown): unknown {
  const copy = copyOf(value);
  let at = copy as Record<string, unknown>;
  for (const step of path) {
    const names = Object.keys(at);
    const name = names[step % Math.max(1, names.length)];
    const next = name === undefined ? undefined : at[name];
    if (typeof next !== 'object' || next === null) {
      if (put === undefined) Reflect.deleteProperty(at, name ?? 'x');
      else at[name ?? (Array.isArray(at) ? '0' : 'x')] = put;
      return copy;
    }
    at = next as Record<string, unknown>;
  }
  if (put === undefined) return copy;
  at[Array.isArray(at) ? '0' : 'later'] = put;
  return copy;
}

const jobs = [
  recordOf({}),
  recordOf({ type: 'batch', count: 3, parallelism: 2, resources: { cpu: '100m', memory: '500Mi', gpu: {} } }),
  recordOf({
    constraints: ['host.os == linux'],
    spread: [{ by: 'host.zone' }],
    ports: { http: 'auto' },
    env: { A: 'b' },
  }),
];

describe('quickCheck', () => {
  it('takes every job as we write it, so that none goes the slow way', () => {
    for (const job of jobs) expect(quickCheck(jobRecordSchema)(copyOf(job))).toBe(true);
  });

  it('never takes what the schema refuses, and leaves the same value behind', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...jobs),
        fc.array(fc.nat(20), { maxLength: 8 }),
        fc.oneof(fc.constant(undefined), fc.jsonValue(), fc.integer({ min: -101, max: 101 })),
        (job, path, put) => {
          const quick = copyOf(changed(job, path, put));
          const slow = jobRecordSchema.safeParse(copyOf(quick));
          if (!quickCheck(jobRecordSchema)(quick)) return;
          expect(slow.success).toBe(true);
          expect(quick).toEqual(slow.data);
        },
      ),
    );
  });

  it('takes an order to start as schedulers send it, and never one that its schema refuses', () => {
    const order = someStart({
      allocation: { ports: { http: 8080 }, cause: 'x' },
      tasks: [someTask({ env: { A: 'b' }, stop: { signal: 'SIGTERM', graceMs: 5 } })],
    });
    expect(quickCheck(startRequest)(copyOf(order))).toBe(true);
    const proto: unknown = JSON.parse(JSON.stringify(order).replace('"A":"b"', '"A":"b","__proto__":"c"'));
    expect(quickCheck(startRequest)(proto)).toBe(false);
    fc.assert(
      fc.property(
        fc.array(fc.nat(20), { maxLength: 8 }),
        fc.oneof(fc.constant(undefined), fc.jsonValue(), fc.integer({ min: -101, max: 70_000 })),
        (path, put) => {
          const quick = copyOf(changed(order, path, put));
          if (!quickCheck(startRequest)(quick)) return;
          const slow = startRequest.safeParse(copyOf(quick));
          expect(slow.success).toBe(true);
          expect(quick).toEqual(slow.data);
        },
      ),
    );
  });

  it('puts the shared empty scalars where the schema would', () => {
    const amounts = { cpuMilli: 1, memoryMib: 2, diskMib: 3, scalars: {} };
    expect(quickCheck(resources)(amounts)).toBe(true);
    expect(amounts.scalars).toBe(resources.parse(copyOf(amounts)).scalars);
  });

  it('leaves to the schema what it does not know', () => {
    const unknown = [
      z.string().regex(/a/g),
      z.string().transform((text) => text.length),
      z.union([z.string(), z.boolean()]),
      z.looseObject({ a: z.string().refine(async (text) => text === 'x') }),
      z.strictObject({ b: z.exactOptional(z.string()) }),
      z.strictObject({ a: z.string() }).refine(() => false),
    ];
    for (const schema of unknown)
      for (const value of ['a', { a: 'x' }]) expect(quickCheck(schema)(value)).toBe(false);
  });
});

describe('jobCodec', () => {
  const name = fc.stringMatching(/^[a-z]([a-z0-9-]{0,8}[a-z0-9])?$/);
  const file = fc.record({
    name,
    command: fc.array(fc.constantFrom('x', 'a', 'web', 'submittedAtMs', '"name"'), {
      minLength: 1,
      maxLength: 2,
    }),
    labels: fc.dictionary(fc.constantFrom('a', 'web'), fc.constantFrom('a', 'web', 'b'), { maxKeys: 2 }),
    count: fc.integer({ min: 1, max: 2 }),
    traced: fc.boolean(),
    submittedAtMs: fc.nat(),
  });

  it('reads a list of jobs that are alike as if each were the only one', () => {
    fc.assert(
      fc.property(fc.array(file, { maxLength: 6 }), (files) => {
        for (const { traced, submittedAtMs, ...one } of files) {
          const record = {
            ...(recordOf(one) as JobRecord),
            submittedAtMs,
            ...(traced ? { traceparent: '00-ab-cd-01' } : {}),
          };
          const text = jobCodec.encode(record);
          const { v: _v, ...fields } = JSON.parse(text) as Record<string, unknown>;
          expect(jobCodec.decode(text)).toEqual(fields);
          expect(jobCodec.decode(text)).toEqual(record);
        }
      }),
    );
  });

  it('refuses what is broken though the one before was like it', () => {
    const text = jobCodec.encode(recordOf({}) as JobRecord);
    jobCodec.decode(text);
    for (const broken of [text.slice(0, -1), text.replace('"count":1', '"count":-1'), `${text}x`])
      expect(() => jobCodec.decode(broken)).toThrow(RecordError);
  });
});
