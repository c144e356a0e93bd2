import type { SchedulerKind } from '../../src/core/cell/job.ts';
import type { SeededRandom } from '../../src/core/random/random.ts';
import type { Request } from '../actor/client.ts';

const RIVALS_MAX = 6;

/** One to six schedulers; of more than one, two are batch schedulers, and of more than two one is for services. */
export function drawnSchedulers(random: SeededRandom): readonly SchedulerKind[] {
  const count = 1 + random.below(RIVALS_MAX);
  const rest = Array.from({ length: Math.max(0, count - 3) }, () =>
    random.below(2) === 0 ? ('batch' as const) : ('service' as const),
  );
  return [...(['batch', 'batch', 'service'] as const).slice(0, count), ...rest];
}

const LOW = 6;
const HIGH = 5;

/** Low precedence fills the cell in small pieces; then high precedence comes several times and preempts many of them. */
export function preempting(random: SeededRandom, activeMs: number): readonly Request[] {
  const low = Array.from({ length: LOW }, (_, n) => {
    const resources = { cpu: `${String(100 + 100 * random.below(2))}m`, memory: '64Mi' };
    const runMs = 2_000 + random.below(8_000);
    return workOf(`low-${String(n)}`, random.below(800), 10 + random.below(20), 4, resources, runMs);
  });
  const high = Array.from({ length: HIGH }, (_, n) => {
    const resources = { cpu: `${String(800 + 200 * random.below(6))}m`, memory: '256Mi' };
    const atMs = 1_500 + random.below(activeMs - 1_500);
    return workOf(`high-${String(n)}`, atMs, 60 + random.below(30), 1 + random.below(2), resources, 1_500);
  });
  return [...low, ...high];
}

function workOf(
  name: string,
  atMs: number,
  priority: number,
  count: number,
  resources: object,
  runMs: number,
): Request {
  const file = {
    ...{ name, type: 'batch', count, priority, resources, command: ['work'] },
    env: { SIM_RUN_MS: String(runMs) },
    stop: { signal: 'SIGTERM', grace: '500ms' },
  };
  return { atMs, kind: 'submit', name, file, stopAfterMs: null };
}
