import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KillMethod, ShimLaunch } from '../../../src/wire/shim-launch.ts';
import {
  COMMAND_MARK,
  decodeLaunch,
  encodeLaunch,
  execLaunch,
  NAMESPACES,
  RLIMITS,
} from '../../../src/wire/shim-launch.ts';

const plain = fc.string({ minLength: 1, maxLength: 20 }).filter((text) => !text.includes('\0'));
const whole = fc.nat();
const someUser = fc.record(
  { uid: whole, gid: whole, groups: fc.array(whole, { maxLength: 3 }) },
  { requiredKeys: ['uid', 'gid', 'groups'] },
);
const limit = fc.option(whole, { nil: null });
/** A launch file keeps the kinds apart: cgroups, then freezers, then marks. */
const RANK = { cgroup: 0, freezer: 1, environ: 2 };
const killMethods = fc
  .array(
    fc.oneof(
      fc.record({ kind: fc.constantFrom('cgroup' as const, 'freezer' as const), path: plain }),
      fc.record({ kind: fc.constant('environ' as const), mark: plain }),
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((methods): readonly KillMethod[] => methods.sort((a, b) => RANK[a.kind] - RANK[b.kind]));

const someEnv = fc.dictionary(fc.stringMatching(/^[A-Z_]{1,8}$/), plain, {
  ...{ minKeys: 1, maxKeys: 4, noNullPrototype: true },
});
const someCalls = fc.array(
  fc.record(
    {
      call: fc.stringMatching(/^[a-z_]{1,9}$/),
      errno: whole,
      when: fc.record({ argument: whole, mask: whole, value: whole }),
    },
    { requiredKeys: ['call', 'errno'] },
  ),
  { minLength: 1, maxLength: 3 },
);

const someLaunch: fc.Arbitrary<ShimLaunch> = fc.record(
  {
    cwd: plain,
    outBase: whole,
    errBase: whole,
    segmentBytes: whole,
    segmentsMax: whole,
    command: fc.array(plain, { minLength: 1, maxLength: 4 }),
    env: fc.oneof(someEnv, fc.constant({})),
    user: someUser,
    rlimits: fc.array(fc.record({ name: fc.constantFrom(...RLIMITS), soft: limit, hard: limit }), {
      minLength: 1,
      maxLength: 3,
    }),
    cgroupProcs: fc.array(plain, { minLength: 1, maxLength: 3 }),
    oomScoreAdj: fc.integer({ min: -1000, max: 1000 }),
    nice: fc.integer({ min: -20, max: 19 }),
    noNewPrivileges: fc.constant(true),
    namespaces: fc.array(fc.record({ kind: fc.constantFrom(...NAMESPACES), path: plain }), {
      minLength: 1,
      maxLength: 3,
    }),
    join: fc.record({ pid: whole, start: whole }),
    pty: fc.record({ rows: whole, columns: whole }),
    stdin: fc.constant('open' as const),
    runMaxMs: whole,
    stopAfterDisconnectMs: whole,
    stop: fc.record({ signal: fc.constant('SIGINT'), graceMs: whole }),
    adopt: fc.record({ pidFile: plain, start: fc.array(plain, { maxLength: 3 }) }),
    kill: killMethods,
    oomFiles: fc.array(plain, { minLength: 1, maxLength: 2 }),
    freezeFile: plain,
    inner: fc.constant(true),
    deny: someCalls,
    inside: fc
      .record(
        { cwd: plain, env: someEnv, user: fc.record({ uid: whole, gid: whole }), deny: someCalls },
        {
          requiredKeys: [],
        },
      )
      .filter((inside) => Object.keys(inside).length > 0),
  },
  { requiredKeys: ['cwd', 'outBase', 'errBase', 'segmentBytes', 'segmentsMax', 'command', 'env'] },
);

const FIRST = '1\0/work\x004\x005\x00100\x002\x002\0sh\0-c\x001\0A=b=c\0';

describe('launch files', () => {
  it('say what was written', () => {
    fc.assert(
      fc.property(someLaunch, (launch) => {
        expect(decodeLaunch(encodeLaunch(launch))).toEqual(launch);
      }),
    );
  });

  it('S2.21 of the first version are read: their agent died before a shim came', () => {
    expect(decodeLaunch(FIRST)).toEqual({
      ...{ cwd: '/work', outBase: 4, errBase: 5, segmentBytes: 100, segmentsMax: 2 },
      ...{ command: ['sh', '-c'], env: { A: 'b=c' } },
    });
  });

  it('are refused when cut short, of another version, or with a word that could be a limit', () => {
    expect(() => decodeLaunch('2\0cwd\0/')).toThrow(/cut short/);
    expect(() => decodeLaunch('2\0cwd\0')).toThrow(/cut short/);
    expect(() => decodeLaunch('3\0cwd\0/\0')).toThrow(/another version/);
    expect(() => decodeLaunch('2\0memory.max\x001\0')).toThrow(/memory.max/);
  });

  it('a command inside a task has its groups and limits, and not its deadline, terminal or kill', () => {
    fc.assert(
      fc.property(someLaunch, (some) => {
        const marks = { MOORAGE_STATE: 's1', MOORAGE_ATTEMPT: 'a.main.1' };
        const task = { ...some, env: { ...some.env, ...marks } };
        const order = { command: ['id'], env: { OWN: '1' }, cwd: '/tmp' };
        const inside = execLaunch(task, { pid: 7, start: 9 }, 'c1', order);
        const { rlimits, cgroupProcs, oomScoreAdj } = task;
        expect(inside).toMatchObject(
          JSON.parse(JSON.stringify({ rlimits, cgroupProcs, oomScoreAdj })) as object,
        );
        // What is inside a container is said apart: the order itself is one to its runtime.
        expect(inside.user).toEqual(task.inside?.user ?? task.user);
        expect(inside.deny).toEqual(task.inside?.deny ?? task.deny);
        expect(inside.env).toEqual({
          ...(task.inside?.env ?? task.env),
          ...{ OWN: '1', [COMMAND_MARK]: 's1/a.main.1/c1' },
        });
        expect(inside).toMatchObject({ outBase: 0, cwd: '/tmp', join: { pid: 7, start: 9 } });
        expect([
          inside.pty,
          inside.runMaxMs,
          inside.stopAfterDisconnectMs,
          inside.adopt,
          inside.inner,
          inside.inside,
        ]).toEqual(Array(6).fill(undefined));
        expect(inside.kill).toEqual([{ kind: 'environ', mark: `${COMMAND_MARK}=s1/a.main.1/c1` }]);
      }),
    );
  });
});
