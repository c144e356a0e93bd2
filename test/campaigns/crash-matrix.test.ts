import { afterAll, expect, it } from 'vitest';
import type { Lane, LaneReport } from '../support/crash-matrix/lane.ts';
import { runLane } from '../support/crash-matrix/lane.ts';
import { isChange, matrixPoints } from '../support/crash-matrix/points.ts';
import { describeNeeding, firstMissing, root } from '../support/needs.ts';
import { buildShim, stateFolder } from '../support/real-host.ts';

const tools = stateFolder();
const shim = buildShim(tools.path);
afterAll(() => tools[Symbol.dispose]());

/**
 * `all`: also at what only looks, at both sides of each I/O, at the first, second and seventh time. Some ten minutes.
 * `N/M`: once at each I/O that changes something, of which the N-th part in M is taken: between two of these all crashes
 * leave the same on the machine. The landing run takes another third each day.
 */
const ASKED = process.env['MOORAGE_CRASH_MATRIX'] ?? '0/3';
const ALL = ASKED === 'all';
const [PART = 0, PARTS = 1] = ALL ? [] : ASKED.split('/').map(Number);
const TIMEOUT_MS = ALL ? 7_200_000 : 900_000;
const LANES_AT_ONCE = ALL ? 2 : 4;
const FIRST_PORT = 21_000;
const PORTS_EACH = 500;

const sites = [...new Set(matrixPoints().map(siteOf))].filter((_, at) => at % PARTS === PART);
const points = matrixPoints().filter((point) => sites.includes(siteOf(point)) && (ALL || isChange(point)));
const at = (when: string) => points.filter((point) => point.endsWith(`:${when}`));

type Plan = Omit<Lane, 'firstPort'>;

const ONCE: readonly Plan[] = [
  { points: at('after'), action: 'kill', nth: 1, from: 'start' },
  { points: at('before'), action: 'kill', nth: 1, from: 'serving' },
  { points, action: 'throw', nth: 1, from: 'start' },
  { points, action: 'throw', nth: 1, from: 'serving' },
];

const OFTEN: readonly Plan[] = [1, 2, 7].flatMap((nth) =>
  (['start', 'serving'] as const).flatMap((from) => [
    { points: at('before'), action: 'kill' as const, nth, from },
    { points: at('after'), action: 'kill' as const, nth, from },
    { points, action: 'throw' as const, nth, from },
  ]),
);

describeNeeding(
  firstMissing(shim === null ? 'there is no C compiler' : null, root()),
  'F1 S2.13 an agent that dies or fails at each of its I/Os',
  () => {
    it(
      'S2.3 I13 I21 I22 I23 I29 loses no task, starts none twice, knows each end exactly, and leaves nothing behind',
      async () => {
        expect(points.length, `MOORAGE_CRASH_MATRIX=${ASKED} names no part`).toBeGreaterThan(0);
        process.stdout.write(
          `crash matrix: MOORAGE_CRASH_MATRIX=${ASKED}, ${String(points.length)} points\n`,
        );
        const met = { kill: new Set<string>(), throw: new Set<string>() };
        const wrong: string[] = [];
        await inTurns(ALL ? OFTEN : ONCE, async (plan, index) => {
          const report = await runLane({ ...plan, firstPort: FIRST_PORT + index * PORTS_EACH }, shim ?? '');
          for (const point of report.met) met[plan.action].add(point);
          wrong.push(...report.wrong.map((one) => `${nameOf(plan)}: ${one}`));
          process.stdout.write(`${lineOf(plan, report)}\n`);
        });
        expect(wrong).toEqual([]);
        const missed = points.filter((point) => !met.kill.has(point) && !met.throw.has(point));
        expect(missed, 'no order of the matrix leads there, and points.ts gives no reason').toEqual([]);
        const sides = (point: string) => ['before', 'after'].map((when) => point.replace(/[a-z]+$/, when));
        const survived = points.filter((point) => !sides(point).some((side) => met.kill.has(side)));
        expect(survived, 'no agent was killed there').toEqual([]);
      },
      TIMEOUT_MS,
    );
  },
);

/** The I/O that a point stands before or after. */
function siteOf(point: string): string {
  return point.slice(0, point.lastIndexOf(':'));
}

function nameOf({ action, nth, from }: Plan): string {
  return `${action} at time ${String(nth)} from its ${from === 'start' ? 'start' : 'first answer'} on`;
}

function lineOf(plan: Plan, { met, lives, blamed }: LaneReport): string {
  const counts = `${String(met.size)} of ${String(plan.points.length)} points, ${String(lives)} lives`;
  const ends = blamed.length === 0 ? '' : `, ${String(blamed.length)} tasks failed and said why`;
  const missed = plan.points.filter((point) => !met.has(point));
  const which = missed.length > 0 && plan.from === 'start' ? `; not met: ${missed.join(', ')}` : '';
  return `crash matrix: ${nameOf(plan)}: ${counts}${ends}${which}`;
}

async function inTurns(
  plans: readonly Plan[],
  run: (plan: Plan, index: number) => Promise<void>,
): Promise<void> {
  const open = plans.map((plan, index) => ({ plan, index }));
  const work = async (): Promise<void> => {
    for (let next = open.shift(); next !== undefined; next = open.shift()) await run(next.plan, next.index);
  };
  await Promise.all(Array.from({ length: LANES_AT_ONCE }, work));
}
