import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** @param share `all`, or `N/M`: every M-th file from the N-th */
function filesOf(folder: string, share: string): readonly string[] {
  const [part = 0, parts = 1] = share === 'all' ? [] : share.split('/').map(Number);
  return readdirSync(join(import.meta.dirname, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .sort()
    .filter((_, at) => at % parts === part)
    .map((name) => `${folder}/${name}`);
}

/**
 * What starts processes of its own: etcd, agents, shims, whole cells. All of them, unless `MOORAGE_REAL=N/M` says every M-th file
 * from the N-th: for a machine on which all would take too long.
 */
const REAL = ['test/integration', 'test/e2e'].flatMap((folder) =>
  filesOf(folder, process.env.MOORAGE_REAL ?? 'all'),
);
/**
 * Many deaths, several machines, or a whole installation: what guards an invariant that other tests guard, too, and takes minutes.
 * `MOORAGE_CAMPAIGNS` is a share like that, or `all`; without it `npm test` runs none.
 */
const { MOORAGE_CAMPAIGNS: share } = process.env;
const CAMPAIGNS = share === undefined ? [] : filesOf('test/campaigns', share);
/** Puts a module of its own in place of one of ours, so it shares none with other tests. */
const MOCKING = ['test/unit/runtime/wait/wait-signals.test.ts'];
/**
 * A time limit is there to end a test that hangs, not to judge a machine: ten times what the slowest of these takes on two
 * quiet cores, since a run may share them with others. What comes of itself is awaited, so a test that passes waits for none.
 */
const REAL_MS = 300_000;
/** The same, of what only computes. */
const PURE_MS = 120_000;

export default defineConfig({
  test: {
    // One more than the two cores of a small machine: tests of real processes wait, too, but with four all of them waited for these.
    maxWorkers: 3,
    testTimeout: PURE_MS,
    hookTimeout: PURE_MS,
    projects: [
      {
        extends: true,
        test: {
          name: 'pure',
          include: ['test/**/*.test.ts'],
          exclude: [...['integration', 'e2e', 'campaigns'].map((room) => `test/${room}/**`), ...MOCKING],
          // Tests of one worker share the modules that they load, which takes more time than most of them.
          isolate: false,
          setupFiles: ['test/support/shared-records.ts'],
        },
      },
      { extends: true, test: { name: 'mocking', include: MOCKING } },
      {
        extends: true,
        test: {
          name: 'real',
          include: [...REAL, ...CAMPAIGNS],
          isolate: false,
          testTimeout: REAL_MS,
          hookTimeout: REAL_MS,
        },
      },
    ],
  },
});
