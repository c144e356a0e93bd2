import type { SeededRandom } from '../../src/core/random/random.ts';
import type { Request } from '../actor/client.ts';

const SERVICES = 6;
/** So long into the quiet period something is still changed. */
const LATER_MS = 16_000;

/**
 * Services with a port, in a cell with enough capacity for all: some crash and are started again, most are changed once or twice and many are
 * stopped, until some time after the last fault.
 */
export function named(random: SeededRandom, activeMs: number): readonly Request[] {
  const requests: Request[] = [];
  for (let n = 0; n < SERVICES; n++) {
    const first = serviceOf(n, random);
    requests.push(first);
    const changes = random.below(3);
    for (let version = 2; version <= 1 + changes; version++) {
      const env = { ...(first.file['env'] as object), VERSION: String(version) };
      const atMs = first.atMs + 3_000 + random.below(activeMs + LATER_MS - 8_000);
      requests.push({ ...first, atMs, stopAfterMs: null, file: { ...first.file, env } });
    }
    if (random.below(3) > 0) {
      const stopAfterMs = 2_000 + random.below(activeMs + LATER_MS - 4_000);
      requests[requests.length - 1] = { ...(requests.at(-1) ?? first), stopAfterMs };
    }
  }
  return requests.sort((a, b) => a.atMs - b.atMs);
}

function serviceOf(n: number, random: SeededRandom): Request {
  const file = {
    ...{ name: `named-${String(n)}`, type: 'service', count: 1 + random.below(3), ports: { http: 'auto' } },
    resources: { cpu: '100m', memory: '64Mi' },
    update: { minHealthy: '500ms' },
    ...(random.below(3) === 0 ? { shutdownDelay: `${String(500 + random.below(1_500))}ms` } : {}),
    ...(random.below(2) === 0 ? { reschedule: { onHostLost: true } } : {}),
    command: ['work'],
    env: { SIM_RUN_MS: String(random.below(3) === 0 ? 3_000 + random.below(4_000) : 0) },
    stop: { signal: 'SIGTERM', grace: '500ms' },
  };
  return { atMs: 200 + random.below(4_000), kind: 'submit', name: file.name, file, stopAfterMs: null };
}
