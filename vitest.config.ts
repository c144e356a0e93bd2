import { defineConfig } from 'vitest/config';

/** Runs last and by itself: dozens of agents in turn, each awaited for what it shall do within seconds. */
const ALONE = ['test/integration/crash-matrix.test.ts'];

export default defineConfig({
  test: {
    // Two cores: more workers than that only make every test slower and every timeout tighter.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'together',
          include: ['test/**/*.test.ts'],
          exclude: ALONE,
          sequence: { groupOrder: 0 },
        },
      },
      { extends: true, test: { name: 'alone', include: ALONE, sequence: { groupOrder: 1 } } },
    ],
  },
});
