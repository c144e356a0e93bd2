import type { SeededRandom } from '../../src/core/random/random.ts';
import { FENCE } from '../actor/power-fences.ts';
import type { Request } from '../actor/client.ts';
import { VOLUME_DRIVER } from '../machine/shared-storage.ts';

const JOBS = 8;

/**
 * Jobs with data: folders of one host, and data that a driver brings to whichever host its slot is on; of each slot its own, shared
 * by all of them, or claimed by several jobs under one name. Most are changed, stopped or submitted again, and some want a fence.
 */
export function keeping(random: SeededRandom, activeMs: number): readonly Request[] {
  const requests: Request[] = [];
  for (let n = 0; n < JOBS; n++) {
    const first = keeperOf(n, random.split(`keeper ${String(n)}`));
    requests.push(first);
    const own = random.split(`changes ${String(n)}`);
    for (let version = 2; version <= 1 + own.below(3); version++) {
      const env = { ...(first.file['env'] as object), VERSION: String(version) };
      const atMs = first.atMs + 1_500 + own.below(activeMs - 4_000);
      const stopAfterMs = own.below(2) === 0 ? null : 500 + own.below(6_000);
      requests.push({ ...first, atMs, stopAfterMs, file: { ...first.file, env } });
    }
  }
  return requests.sort((a, b) => a.atMs - b.atMs);
}

function keeperOf(n: number, random: SeededRandom): Request {
  const isService = random.below(3) > 0;
  const isGlobal = random.below(3) > 0;
  // Two jobs claim each of these, one of them by the same means.
  const claim = random.below(3) === 0 ? { claim: `${isGlobal ? 'brought' : 'local'}-${String(n % 2)}` } : {};
  const isShared = !('claim' in claim) && random.below(4) === 0;
  const data = {
    ...claim,
    ...(isShared ? { access: 'shared' } : {}),
    ...(isGlobal ? { scope: 'global', driver: VOLUME_DRIVER } : {}),
    ...(isGlobal && !isShared && random.below(2) === 0 ? { forceDetach: true } : {}),
  };
  const moves = isGlobal && random.below(3) > 0;
  const file = {
    ...{ name: `keeper-${String(n)}`, type: isService ? 'service' : 'batch' },
    count: 'claim' in claim ? 1 : 1 + random.below(3),
    resources: { cpu: `${String(100 * (1 + random.below(5)))}m`, memory: '128Mi' },
    volumes: { data },
    mounts: { data: {} },
    ...(isService ? { update: { strategy: 'stop-first' } } : {}),
    ...(moves ? { reschedule: { onHostLost: true } } : {}),
    ...(moves && random.below(2) === 0 ? { disconnect: { fence: FENCE } } : {}),
    command: ['work'],
    env: { SIM_RUN_MS: String(isService && random.below(3) > 0 ? 0 : 1_000 + random.below(8_000)) },
    stop: { signal: 'SIGTERM', grace: '500ms' },
  };
  const stopAfterMs = random.below(3) === 0 ? 1_000 + random.below(9_000) : null;
  return { atMs: 200 + random.below(5_000), kind: 'submit', name: file.name, file, stopAfterMs };
}
