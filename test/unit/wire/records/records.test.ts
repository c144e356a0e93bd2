import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Allocation } from '../../../../src/core/cell/allocation.ts';
import { DESIRED_STATES } from '../../../../src/core/cell/allocation.ts';
import { ELIGIBILITY } from '../../../../src/core/host/host.ts';
import type { JobRecord } from '../../../../src/core/cell/job.ts';
import type { Ledger } from '../../../../src/core/fit/ledger.ts';
import { bandOf, EMPTY_LEDGER, withClaim, withoutClaim } from '../../../../src/core/fit/ledger.ts';
import { NO_RESOURCES, NO_SCALARS } from '../../../../src/core/cell/resources.ts';
import type { Codec } from '../../../../src/wire/wire.ts';
import { RecordError } from '../../../../src/wire/wire.ts';
import * as records from '../../../../src/wire/records/records.ts';
import { testAllocation, testHost } from '../../../support/commit-world.ts';

const { allocationCodec, ledgerCodec } = records;

const amount = fc.integer({ min: 0, max: 2 ** 40 });
const label = fc.stringMatching(/^[a-z][a-z0-9-]{0,10}$/);
const scalars = fc
  .dictionary(label, fc.integer({ min: 1, max: 1000 }), { maxKeys: 3, noNullPrototype: true })
  .map((map) => (Object.keys(map).length === 0 ? NO_SCALARS : map));
const resources = fc.record({ cpuMilli: amount, memoryMib: amount, diskMib: amount, scalars });
const ports = fc.dictionary(label, fc.integer({ min: 1, max: 65_535 }), {
  maxKeys: 4,
  noNullPrototype: true,
});

const ledger: fc.Arbitrary<Ledger> = fc.record({
  state: fc.constantFrom(...ELIGIBILITY),
  counter: amount,
  bands: fc
    .uniqueArray(fc.tuple(fc.integer({ min: -1, max: 100 }), resources), {
      maxLength: 4,
      selector: ([precedence]) => precedence,
    })
    .map((bands) => bands.map(([precedence, used]) => bandOf(precedence, used)))
    .map((bands) => bands.sort((a, b) => a.precedence - b.precedence)),
  gpuMilli: fc.array(fc.integer({ min: 0, max: 1000 }), { maxLength: 8 }),
  ports: fc.array(fc.integer({ min: 1, max: 65_535 }), { maxLength: 8 }),
});

const allocation: fc.Arbitrary<Allocation> = fc
  .record(
    {
      id: label,
      host: label,
      precedence: fc.integer({ min: -1, max: 100 }),
      resources,
      gpus: fc.array(fc.record({ device: fc.nat(8), milli: fc.nat(1000) }), { maxLength: 3 }),
      ports,
      index: amount,
      desired: fc.constantFrom(...DESIRED_STATES),
      cause: fc.string(),
      replaces: label,
      evicts: fc.array(label),
    },
    { requiredKeys: ['id', 'host', 'precedence', 'resources', 'gpus', 'ports', 'index', 'desired'] },
  )
  .map((some) => testAllocation(some.id, some.host, some));

const group: JobRecord['job']['groups'][string] = {
  ...{ name: 'web', count: 2, parallelism: null, gang: false, ports: { http: 0 } },
  ...{
    constraints: [{ attribute: 'os', operator: '==', value: 'linux', text: 'host.os == linux' }],
    affinities: [],
  },
  ...{ spread: [{ attribute: 'zone', weight: 50 }], distinct: ['id'], deadlineMs: null, waitMaxMs: 1000 },
  restart: { attempts: 1, windowMs: 2, delayMs: 3, on: 'failure' },
  reschedule: { attempts: null, delayMs: 1, delayMaxMs: 2, onHostLost: false },
  tasks: {
    web: {
      ...{ name: 'web', command: ['sleep', '1'], env: { A: 'b' }, resources: NO_RESOURCES },
      ...{
        gpu: { count: 1, milliEach: 500, models: [] },
        stop: { signal: 'SIGTERM', graceMs: 1 },
        sidecar: false,
      },
    },
  },
};

/** One value of each kind of record. */
const examples: readonly [string, Codec<object>, object][] = (
  [
    ['host', records.hostCodec, testHost('h1')],
    [
      'eligibility',
      records.eligibilityCodec,
      { state: 'lost', reason: 'r', by: 'b', sinceMs: 1, counter: 2 },
    ],
    ['ledger', ledgerCodec, withClaim(EMPTY_LEDGER, testAllocation('a', 'h1', { ports: { http: 20_000 } }))],
    ['allocation', allocationCodec, testAllocation('a', 'h1')],
    [
      'job',
      records.jobCodec,
      {
        job: {
          ...{ namespace: 'default', name: 'web', type: 'service', precedence: 50, scheduler: 'auto' },
          ...{ labels: {}, groups: { web: group }, oneOff: false },
        },
        ...{ version: 1, desired: 'run', submittedAtMs: 1 },
      },
    ],
    ['owner', records.ownerCodec, { scheduler: 's', kind: 'service', sinceMs: 1 }],
    [
      'outcome',
      records.outcomeCodec,
      {
        ...{
          allocation: 'a',
          namespace: 'n',
          job: 'j',
          jobVersion: 1,
          group: 'g',
          index: 0,
          attempt: 1,
          host: 'h',
        },
        ...{ scheduler: 's', state: 'failed', exit: { code: 1 }, reason: 'r', endedAtMs: 2, restarts: 0 },
        cause: 'stopped by user',
      },
    ],
    ['run', records.runCodec, { job: 'j', createdAtMs: 1 }],
    [
      'role',
      records.roleCodec,
      { kind: 'scheduler', id: 's', address: '', version: '0', policy: 'p', startedAtMs: 1 },
    ],
    [
      'quota',
      records.quotaCodec,
      { namespace: 'n', cpuMilli: 1, memoryMib: null, gpuMilli: null, allocations: 2 },
    ],
    [
      'pause',
      records.pauseCodec,
      { what: 'placement', namespace: 'n', by: 'ada', reason: 'new disks', sinceMs: 1, untilMs: 2 },
    ],
    ['meta', records.metaCodec, { schema: 1, incarnation: 'i', createdAtMs: 1 }],
  ] as const
).map(([kind, codec, value]) => [kind, codec as unknown as Codec<object>, value]);

describe('records', () => {
  it.each(examples)('%s comes back as it was', (_kind, codec, value) => {
    expect(codec.decode(codec.encode(value))).toEqual(value);
    expect(JSON.parse(codec.encode(value))).toMatchObject({ v: 1 });
  });

  it.each(examples)('I64 unknown fields of %s survive a read-modify-write', (_kind, codec, value) => {
    const newer = JSON.stringify({ ...(JSON.parse(codec.encode(value)) as object), later: { a: [1] } });
    const { ...changed } = codec.decode(newer);
    expect(JSON.parse(codec.encode(changed))).toEqual(JSON.parse(newer));
  });

  it('what could not be read again is not written', () => {
    const known = { state: 'lost', reason: 'r', by: 'b', sinceMs: 1, counter: 2 } as const;
    for (const silentMs of [-1, 0.5, Number.NaN])
      expect(() => records.eligibilityCodec.encode({ ...known, silentMs })).toThrow(
        /^not written: RecordError: eligibility record: silentMs: /,
      );
  });

  it('I64 unknown fields of a ledger survive claims that come and go', () => {
    const newer = ledgerCodec.decode('{"v":1,"bands":{"50":[1,1,0]},"later":{"a":[1]}}');
    const claim = testAllocation('a', 'h1');
    const used = withClaim(newer, claim);
    expect(ledgerCodec.encode(used)).toBe('{"v":1,"bands":{"50":[1001,1001,0]},"later":{"a":[1]}}');
    expect(withoutClaim(used, claim)).toEqual(newer);
  });

  it.each(examples)('a broken %s is refused with its kind and place', (kind, codec, value) => {
    const whole = JSON.parse(codec.encode(value)) as Record<string, unknown>;
    const broken = (text: string): string => {
      try {
        codec.decode(text);
        return 'was read';
      } catch (error) {
        if (!(error instanceof RecordError)) throw error;
        expect(error.kind).toBe(kind);
        return error.message;
      }
    };
    for (const text of ['', '{', '[]', 'null', '7', '"x"', '{}'])
      expect(broken(text)).toContain(`${kind} record`);
    expect(broken(JSON.stringify({ ...whole, v: 2 }))).toContain('v: expected 1, found 2');
    expect(broken(JSON.stringify(whole).replace('{', '{"__proto__":{},'))).toContain('__proto__');
    for (const field of Object.keys(whole)) {
      if (field !== 'v') expect(broken(JSON.stringify({ ...whole, [field]: [[7]] }))).toContain(field);
    }
  });

  it('keeps every ledger, and writes what is empty in the fewest characters', () => {
    fc.assert(
      fc.property(ledger, (one) => {
        expect(ledgerCodec.decode(ledgerCodec.encode(one))).toEqual(one);
      }),
    );
    expect(ledgerCodec.encode(EMPTY_LEDGER)).toBe('{"v":1}');
    const claim = testAllocation('a', 'h1');
    const used = ledgerCodec.decode(ledgerCodec.encode(withClaim(EMPTY_LEDGER, claim)));
    expect(ledgerCodec.encode(used)).toBe('{"v":1,"bands":{"50":[1000,1000,0]}}');
    expect(ledgerCodec.encode(withoutClaim(used, claim))).toBe('{"v":1}');
  });

  it('takes the name of the prototype for a reason, not for a key', () => {
    const one = testAllocation('a', 'h', { cause: '__proto__' });
    const text = allocationCodec.encode(one);
    expect(allocationCodec.decode(text)).toEqual(one);
    expect(() => allocationCodec.decode(text.replace('"cause":', '"__proto__" :'))).toThrow(/__proto__/);
  });

  it('keeps every allocation', () => {
    fc.assert(
      fc.property(allocation, (one) => {
        expect(allocationCodec.decode(allocationCodec.encode(one))).toEqual(one);
      }),
    );
  });

  it('keeps every allocation that is written after one like it in all but one field', () => {
    fc.assert(
      fc.property(allocation, allocation, (one, other) => {
        for (const field of Object.keys(other) as (keyof Allocation)[]) {
          const like = { ...one, [field]: other[field] };
          expect(allocationCodec.decode(allocationCodec.encode(one))).toEqual(one);
          expect(allocationCodec.decode(allocationCodec.encode(like)), field).toEqual(like);
        }
      }),
    );
  });

  it('reads amounts with the shared empty scalars, which sums recognise', () => {
    const read = ledgerCodec.decode('{"v":1,"bands":{"50":[1,2,3]}}');
    expect(read.bands[0]?.scalars).toBe(NO_SCALARS);
    const host = records.hostCodec.decode(
      records.hostCodec.encode(testHost('h', { reserved: { ...NO_RESOURCES } })),
    );
    expect(host.reserved.scalars).toBe(NO_SCALARS);
  });

  it('refuses amounts that are no whole numbers from 0 up, with their place', () => {
    for (const bad of ['-1', '1.5', '1e300', '"1"', 'null']) {
      expect(() => ledgerCodec.decode(`{"v":1,"bands":{"50":[1,${bad},3]}}`)).toThrow(
        /bands\.50: expected a whole/,
      );
      expect(() => ledgerCodec.decode(`{"v":1,"ports":[${bad}]}`)).toThrow(/ports/);
    }
    expect(() => ledgerCodec.decode('{"v":1,"bands":{"101":[1,2,3]}}')).toThrow(/bands/);
    expect(() => ledgerCodec.decode('{"v":1,"gpuMilli":[1001]}')).toThrow(/gpuMilli/);
    expect(() => ledgerCodec.decode(`{"v":1,"x":"${'x'.repeat(70_000)}"}`)).toThrow(/too many/);
  });
});
