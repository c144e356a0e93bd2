import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Group, Job } from '../../../../src/core/cell/job.ts';
import { makeJob } from '../cell-world.ts';
import { placesAfter, PlanWorld } from './plan-world.ts';

const MOVES = { attempts: null, delayMs: 0, delayMaxMs: 0, onHostLost: true };

const group = fc.record({
  count: fc.integer({ min: 1, max: 4 }),
  cpuMilli: fc.constantFrom(300, 700, 1_100),
  strategy: fc.constantFrom('stop-first' as const, 'start-first' as const),
  parallelism: fc.integer({ min: 1, max: 3 }),
  canary: fc.constantFrom(0, 0, 1),
  gang: fc.constantFrom(false, false, true),
});

const scene = fc.record({
  hosts: fc.array(fc.integer({ min: 800, max: 3_000 }), { minLength: 1, maxLength: 4 }),
  low: fc.integer({ min: 0, max: 4 }),
  precedence: fc.constantFrom(5, 50, 80),
  before: group,
  after: group,
});

function webOf(part: typeof group extends fc.Arbitrary<infer T> ? T : never, precedence: number): Job {
  const { count, cpuMilli, gang, strategy, parallelism, canary } = part;
  const update = { strategy, parallelism, canary: Math.min(canary, count) };
  const more: Partial<Group> = { count, gang, minHealthyMs: 1_000, update: gang ? { parallelism } : update };
  return makeJob('web', { type: 'service', precedence }, { ...more, reschedule: MOVES }, cpuMilli);
}

it('issue 27: a plan changes nothing, and what it says is what then happens in a cell where nothing else does', async () => {
  await fc.assert(
    fc.asyncProperty(scene, async ({ hosts, low, precedence, before, after }) => {
      const world = new PlanWorld();
      try {
        for (const [n, cpuMilli] of hosts.entries()) await world.host(`h${String(n)}`, cpuMilli);
        await world.started({ id: 'service-1', kind: 'service' });
        if (low > 0) {
          const job = makeJob(
            'low',
            { type: 'service', precedence: 10 },
            { count: low, reschedule: MOVES },
            400,
          );
          await world.submit(job);
          await world.quiet();
        }
        for (const [version, job] of [webOf(before, precedence), webOf(after, precedence)].entries()) {
          const jobs = ['web', 'low'];
          const was = jobs.map((name) => world.placesOf(name));
          const [stored, ordered] = [world.stored(), world.ordered()];
          const plan = await world.planOf('service-1', { submit: world.recordOf(job, version + 1) });
          expect(world.stored()).toBe(stored);
          expect(world.ordered()).toBe(ordered);
          expect(plan.isCut).toBe(false);
          await world.submit(job, version + 1);
          await world.quiet();
          for (const [n, name] of jobs.entries()) {
            const of = plan.jobs.find((one) => one.job === name);
            // Which of several equal slots, hosts or victims it is, chance decides.
            expect(placesAfter(was[n] ?? [], of?.acts ?? [])).toHaveLength(world.placesOf(name).length);
          }
        }
      } finally {
        await world.close();
      }
    }),
    { numRuns: 25 },
  );
}, 120_000);
