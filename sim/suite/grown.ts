import { DEFAULT_ELASTIC } from '../../src/core/elastic/elastic.ts';
import type { ElasticRule } from '../../src/core/elastic/elastic.ts';
import { ELASTIC_POLICIES } from '../../src/core/cell/job.ts';
import type { SchedulerKind } from '../../src/core/cell/job.ts';
import type { SeededRandom } from '../../src/core/random/random.ts';
import type { Request } from '../actor/client.ts';

/** Two of a kind each, so that they compete with each other and with those that take back what was grown. */
export const GROWERS: readonly SchedulerKind[] = ['elastic', 'elastic', 'batch', 'batch', 'service'];

const ELASTIC = 4;
const LOW = 4;
const NEWCOMERS = 9;

/** Mostly without a cap: the cell is filled again and again. */
export function drawnRule(random: SeededRandom): ElasticRule {
  const policy = ELASTIC_POLICIES[random.below(2 * ELASTIC_POLICIES.length)] ?? 'max-parallelism';
  return { ...DEFAULT_ELASTIC, policy };
}

/**
 * Elastic jobs that would fill the cell, some of a low priority beside them that never grow, and newcomers of any priority that need
 * room all the time. Some of the elastic ones come again with another range, or for another kind of scheduler.
 */
export function grown(random: SeededRandom, activeMs: number): readonly Request[] {
  const requests: Request[] = [];
  for (let n = 0; n < ELASTIC; n++) {
    const name = `grown-${String(n)}`;
    const first = { name, priority: 30 + random.below(40), count: drawnRange(random) };
    const runMs = 9_000 + random.below(activeMs);
    requests.push(workOf(random.below(2_000), first, pieces(random), runMs));
    if (random.below(2) === 0) continue;
    const isOther = random.below(3) === 0;
    const later = { ...first, ...(isOther ? { scheduler: 'batch' } : { count: drawnRange(random) }) };
    const atMs = 4_000 + random.below(activeMs - 4_000);
    requests.push({ ...workOf(atMs, later, {}, runMs), file: { ...requests.at(-1)?.file, ...later } });
  }
  for (let n = 0; n < LOW; n++) {
    const low = { name: `low-${String(n)}`, priority: random.below(3), count: 2 };
    requests.push(workOf(random.below(6_000), low, pieces(random), 4_000 + random.below(12_000)));
  }
  for (let n = 0; n < NEWCOMERS; n++) {
    const high = { name: `new-${String(n)}`, priority: random.below(100), count: 1 + random.below(3) };
    const gang = random.below(4) === 0 ? { gang: true } : {};
    const resources = { cpu: `${String(300 + 300 * random.below(4))}m`, memory: '256Mi' };
    const atMs = 1_500 + random.below(activeMs - 1_500);
    requests.push(workOf(atMs, { ...high, ...gang }, resources, 500 + random.below(4_000)));
  }
  return requests.sort((a, b) => a.atMs - b.atMs);
}

function drawnRange(random: SeededRandom): { readonly min: number; readonly max: number } {
  const min = 1 + random.below(2);
  return { min, max: min + 1 + random.below(10) };
}

function pieces(random: SeededRandom): object {
  return { cpu: `${String(100 + 100 * random.below(4))}m`, memory: '64Mi' };
}

function workOf(
  atMs: number,
  spec: { readonly name: string; readonly priority: number; readonly count: unknown },
  resources: object,
  runMs: number,
): Request {
  const file = {
    ...{ ...spec, type: 'batch', resources, command: ['work'], env: { SIM_RUN_MS: String(runMs) } },
    stop: { signal: 'SIGTERM', grace: '500ms' },
  };
  return { atMs, kind: 'submit', name: spec.name, file, stopAfterMs: null };
}
