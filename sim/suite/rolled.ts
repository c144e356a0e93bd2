import type { SeededRandom } from '../../src/core/random/random.ts';
import type { Request } from '../actor/client.ts';

const SERVICES = 4;
const VERSIONS = 4;

/** Services whose updates have short deadlines, in a cell with enough capacity for all. One version in four does not stay up. */
export function rolled(random: SeededRandom, activeMs: number): readonly Request[] {
  const requests: Request[] = [];
  for (let n = 0; n < SERVICES; n++) {
    const first = serviceOf(n, random);
    requests.push(first);
    for (let version = 2; version <= VERSIONS; version++) {
      const atMs = first.atMs + ((version - 1) * activeMs) / VERSIONS + random.below(3_000);
      requests.push({ ...first, atMs, file: versionOf(first.file, version, random) });
    }
  }
  return requests.sort((a, b) => a.atMs - b.atMs);
}

function serviceOf(n: number, random: SeededRandom): Request {
  const canary = random.below(3) === 0 ? { canary: 1, autoPromote: random.below(3) > 0 } : {};
  const file = {
    ...{ name: `rolled-${String(n)}`, type: 'service', count: 2 + random.below(3) },
    resources: { cpu: '100m', memory: '64Mi' },
    update: {
      ...{ minHealthy: '800ms', healthyDeadline: '4s', progressDeadline: '6s' },
      parallelism: 1 + random.below(2),
      ...(random.below(3) === 0 ? { strategy: 'start-first' } : {}),
      ...(random.below(2) === 0 ? { autoRevert: true } : {}),
      ...canary,
    },
    command: ['work'],
    env: { SIM_RUN_MS: '0' },
    stop: { signal: 'SIGTERM', grace: '500ms' },
  };
  return { atMs: 200 + random.below(2_000), kind: 'submit', name: file.name, file, stopAfterMs: null };
}

function versionOf(file: Request['file'], version: number, random: SeededRandom): Request['file'] {
  const isBad = random.below(4) === 0;
  const fails = isBad ? { SIM_RUN_MS: String(100 + random.below(500)), SIM_EXIT_CODE: '1' } : {};
  const env = { ...(file['env'] as object), VERSION: String(version), ...fails };
  return { ...file, env, ...(isBad && random.below(2) === 0 ? { restart: { attempts: 0 } } : {}) };
}
