import type { RemedyPolicy } from '../../src/core/detector/remedies.ts';
import { DEFAULT_REMEDIES } from '../../src/core/detector/remedies.ts';
import type { SeededRandom } from '../../src/core/random/random.ts';
import type { Request } from '../actor/client.ts';
import type { Fault } from '../nemesis/fault.ts';

const SERVICES = 10;

/** Services on all hosts, of which some get a version that does not stay up. */
export function blamed(random: SeededRandom, activeMs: number): readonly Request[] {
  const requests: Request[] = [];
  for (let n = 0; n < SERVICES; n++) {
    const own = random.split(`service ${String(n)}`);
    const file = {
      ...{ name: `blamed-${String(n)}`, type: 'service', count: 3 + own.below(3), distinct: ['host'] },
      resources: { cpu: '50m', memory: '32Mi' },
      update: { minHealthy: '500ms', parallelism: 2 },
      reschedule: { delay: '500ms', maxDelay: '2s' },
      restart: { attempts: 20, window: '1m', delay: '500ms', maxDelay: '1s' },
      command: ['work'],
      env: { SIM_RUN_MS: '0' },
      stop: { signal: 'SIGTERM', grace: '500ms' },
    };
    const first = { kind: 'submit' as const, name: file.name, stopAfterMs: null };
    requests.push({ ...first, atMs: 200 + own.below(1_500), file });
    if (own.below(4) > 0) continue;
    const bad = { ...file.env, SIM_RUN_MS: '150', SIM_EXIT_CODE: '1' };
    requests.push({
      ...first,
      atMs: 4_000 + own.below(Math.floor(activeMs / 3)),
      file: { ...file, env: bad },
    });
  }
  return requests.sort((a, b) => a.atMs - b.atMs);
}

/** Hosts on which nothing can be started any more, all within a moment. */
export function badHosts(random: SeededRandom, hosts: number, activeMs: number): readonly Fault[] {
  const first = random.below(hosts);
  const atMs = 100 + random.below(400);
  return Array.from({ length: 2 + random.below(3) }, (_, n) => ({
    kind: 'starts-fail',
    target: `host-${String(1 + ((first + n) % hosts))}`,
    atMs: atMs + random.below(500),
    durationMs: activeMs - atMs - 1_000,
    amount: 1,
  }));
}

/** Little of everything, so that monitors meet at the bounds. */
export function drawnPolicy(random: SeededRandom): RemedyPolicy {
  const [sharePercent, perHourMax] = [[13, 26, 50][random.below(3)] ?? 13, 1 + random.below(5)];
  return { ...DEFAULT_REMEDIES, sharePercent, perHourMax };
}
