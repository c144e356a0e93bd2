import type { Quota } from '../../src/core/quota/quota.ts';
import type { SeededRandom } from '../../src/core/random/random.ts';
import type { Request } from '../actor/client.ts';
import type { FaultSettings } from '../nemesis/random-faults.ts';
import type { Scenario } from '../world/scenario.ts';
import { burst } from './requests.ts';
import type { Run } from './scenarios.ts';
import { SHORT } from './scenarios.ts';

/** An arbiter waits so long before it grants anything within a quota: tickets of one before it may still be out. */
const HOLD_MS = 40_000;
/** Half of what the hosts have. */
const LIMITS: Quota = {
  ...{ namespace: 'default', cpuMilli: 3_000, memoryMib: null, gpuMilli: null, allocations: 7 },
};
const ALLOWED: Scenario = { ...SHORT, activeMs: HOLD_MS + 16_000, quota: { atMs: 0, limits: LIMITS } };

/** An arbiter that dies between a grant and its answer leaves it to its successor, which may be all of the quota. */
const KEPT: Scenario = {
  ...ALLOWED,
  arbiters: 2,
  least: { ...ALLOWED.least, committed: 1, started: 1, ended: 0 },
};

const SLOWLY: FaultSettings = {
  network: { delayMaxMs: 150 },
  store: { delayMaxMs: 200, watchLags: 0.3, watchLagMs: 800, replyLost: 0.03 },
};

/** In every fourth run the quota comes while busy schedulers commit what they ask tickets for only afterwards. */
export function quotaRun(random: SeededRandom): Run {
  const late = random.split('late');
  const requests = burst(random, 14_000);
  if (late.below(4) > 0) return { scenario: ALLOWED, faults: SLOWLY, requests: requests.map(held) };
  const quota = { atMs: 500 + late.below(5_000), limits: LIMITS };
  return { scenario: { ...ALLOWED, quota, busyBacklog: 1 }, faults: SLOWLY, requests };
}

/** One arbiter after the other is away: for a moment, or for longer than its session. */
export function keptRun(random: SeededRandom): Run {
  const faultPlan = Array.from({ length: 8 }, (_, n) => ({
    kind: (['kill', 'lease-lost', 'pause', 'kill', 'lease-lost'] as const)[random.below(5)] ?? 'kill',
    target: `arbiter-${String(1 + random.below(2))}`,
    atMs: HOLD_MS + 3_000 + 1_600 * n,
    durationMs: random.below(3) === 0 ? 12_000 : 400,
  }));
  const store = {
    delayMaxMs: 60,
    watchLags: 0.3,
    watchLagMs: 800,
    replyLost: 0.02,
    requestLost: 0.02,
    late: 0.05,
  };
  const requests = burst(random, 14_000).map(held);
  return { scenario: KEPT, faults: { network: { delayMaxMs: 60 }, store }, faultPlan, requests };
}

function held(request: Request): Request {
  return { ...request, atMs: request.atMs + HOLD_MS };
}
