import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** What starts processes of its own: etcd, agents, shims, whole cells. */
const REAL = ['test/integration/**/*.test.ts', 'test/e2e/**/*.test.ts'];
/**
 * Many deaths, several machines, or a whole installation: what guards an invariant that other tests guard, too, and takes minutes.
 * `MOORAGE_CAMPAIGNS=N/M` runs every M-th file from the N-th, `all` all of them; without it `npm test` runs none.
 */
const CAMPAIGNS = 'test/campaigns';
const [part = 0, parts = 1] = (process.env.MOORAGE_CAMPAIGNS ?? '').split('/').map(Number);
const campaigns =
  process.env.MOORAGE_CAMPAIGNS === undefined
    ? []
    : readdirSync(join(import.meta.dirname, CAMPAIGNS))
        .filter((name) => name.endsWith('.test.ts'))
        .sort()
        .filter((_, at) => process.env.MOORAGE_CAMPAIGNS === 'all' || at % parts === part)
        .map((name) => `${CAMPAIGNS}/${name}`);
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
    // Twice the two cores of a small machine: tests of real processes wait more than they compute.
    maxWorkers: 4,
    testTimeout: PURE_MS,
    hookTimeout: PURE_MS,
    projects: [
      {
        extends: true,
        test: {
          name: 'pure',
          include: ['test/**/*.test.ts'],
          exclude: [...REAL, ...MOCKING, `${CAMPAIGNS}/**`],
          // Tests of one worker share the modules that they load, which takes more time than most of them.
          isolate: false,
        },
      },
      { extends: true, test: { name: 'mocking', include: MOCKING } },
      {
        extends: true,
        test: {
          name: 'real',
          include: [...REAL, ...campaigns],
          isolate: false,
          testTimeout: REAL_MS,
          hookTimeout: REAL_MS,
        },
      },
    ],
  },
});
