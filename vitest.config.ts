import { defineConfig } from 'vitest/config';

/** What starts processes of its own: etcd, agents, shims, whole cells. */
const REAL = ['test/integration/**/*.test.ts', 'test/e2e/**/*.test.ts'];
/** Runs last and by itself: dozens of agents in turn, each awaited for what it shall do within seconds. */
const ALONE = ['test/integration/crash-matrix.test.ts'];
/**
 * A time limit is there to end a test that hangs, not to judge a machine: ten times what the slowest of these takes on two
 * quiet cores, since a run may share them with others. What comes of itself is awaited, so a test that passes waits for none.
 */
const REAL_MS = 300_000;
/** The same, of what only computes. */
const PURE_MS = 120_000;

export default defineConfig({
  test: {
    // Two cores: more workers than that only make every test slower and every timeout tighter.
    maxWorkers: 2,
    testTimeout: PURE_MS,
    hookTimeout: PURE_MS,
    projects: [
      {
        extends: true,
        test: {
          name: 'pure',
          include: ['test/**/*.test.ts'],
          exclude: REAL,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'real',
          include: REAL,
          exclude: ALONE,
          ...{ testTimeout: REAL_MS, hookTimeout: REAL_MS },
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: 'alone', include: ALONE, hookTimeout: REAL_MS, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
