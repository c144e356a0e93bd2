import fc from 'fast-check';
import type { KillMethod, ShimLaunch } from '../../../../src/wire/host-files/shim-launch.ts';
import { NAMESPACES, RLIMITS } from '../../../../src/wire/host-files/shim-launch.ts';

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

/** Any order to a shim. */
export const someLaunch: fc.Arbitrary<ShimLaunch> = fc.record(
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
    capabilities: fc.constant('none' as const),
    own: plain,
    apart: fc.constant(true),
    show: fc.array(fc.record({ from: plain, to: plain }), { minLength: 1, maxLength: 3 }),
    ids: fc.record(
      { first: whole, count: whole, enter: fc.constant(true) },
      { requiredKeys: ['first', 'count'] },
    ),
    root: fc.record({ image: plain, layer: plain, at: plain }),
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
    denyFd: whole,
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
