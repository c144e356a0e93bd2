import { describe, expect, it } from 'vitest';
import { cellKeys } from '../../../../src/core/cell/keys.ts';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import type { SchedulerWorld } from '../../../../schedulers/state/state.ts';
import { JobLoader } from '../../../../schedulers/ownership/job-loader.ts';
import { turns } from '../../../support/instant-clock.ts';

/** A store whose lists are all empty, and that keeps each call until it is let go. */
function worldOf() {
  const calls: (readonly string[])[] = [];
  const held: (() => void)[] = [];
  const store = {
    async listMany(prefixes: readonly string[]) {
      calls.push(prefixes);
      await new Promise<void>((resolve) => held.push(resolve));
      return prefixes.map(() => ({ revision: 1, entries: new Map() }));
    },
  };
  const world = { store, keys: cellKeys('test'), log: silentLog } as unknown as SchedulerWorld;
  return { calls, held, loader: new JobLoader(world) };
}

const jobOf = (namespace: string, n: number) => ({
  ...{ namespace, job: `job-${String(n)}`, version: 1, hasGangs: false },
});

describe('a job loader', () => {
  it('S3.47 reads a few jobs of one tenant before thousands of another that came first', async () => {
    const { calls, held, loader } = worldOf();
    const read: string[] = [];
    const load = (namespace: string, n: number) =>
      loader.load(jobOf(namespace, n)).then(() => read.push(`${namespace}/${String(n)}`));
    const all = Array.from({ length: 2_000 }, (_, n) => load('large', n));
    await turns(1);
    const before = calls.length;
    for (let n = 0; n < 10; n++) all.push(load('small', n));
    await turns(1);
    expect(calls).toHaveLength(before);
    held.shift()?.();
    await turns(2);
    // The call that had room next has all of them.
    expect(calls.at(-1)?.filter((prefix) => prefix.includes('/small/'))).toHaveLength(20);
    while (held.length > 0) {
      for (const go of held.splice(0)) go();
      await turns(2);
    }
    await Promise.all(all);
    expect(new Set(read).size).toBe(2_010);
    expect(loader.waiting).toBe(0);
  });
});
