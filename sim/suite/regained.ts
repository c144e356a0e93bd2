import { RETURN_POLICIES } from '../../src/core/cell/job.ts';
import type { SeededRandom } from '../../src/core/random/random.ts';
import type { Fault } from '../nemesis/fault.ts';
import type { Request } from '../actor/client.ts';
import { replaced } from './budgeted.ts';
import { urgent } from './requests.ts';

/** From a host's last sign of life to the verdict: its session, then the monitors' wait. */
const LOST_MS = 28_000;

/**
 * Hosts that are back just when they count as lost or some seconds later, one after the other, so that the news of the one
 * overtakes what was decided by the other.
 */
export function briefly(random: SeededRandom, hosts: number, firstMs: number): readonly Fault[] {
  const first = random.below(hosts);
  return Array.from({ length: 2 }, (_, n) => ({
    kind: 'isolate' as const,
    target: `host-${String(1 + ((first + n) % hosts))}`,
    atMs: firstMs + n * 11_000 + random.below(2_000),
    durationMs: LOST_MS - 2_000 + random.below(8_000),
  }));
}

const URGENT = 26;

/** Work that comes and goes while hosts are lost: what replaces something there gives way to it, and takes its place again. */
export function comings(random: SeededRandom, fromMs: number, toMs: number): readonly Request[] {
  return Array.from({ length: URGENT }, (_, n) =>
    urgent(n + 2, fromMs + random.below(toMs - fromMs), random),
  );
}

/** All that runs on a lost host is wanted elsewhere, and may be kept when it is back. */
export function kept(request: Request, random: SeededRandom): Request {
  const { file } = replaced(request);
  if (file['gang'] === true) return request;
  const policies = RETURN_POLICIES.filter((policy) => policy !== 'newest');
  const onReturn = policies[random.split(`kept ${request.name}`).below(policies.length)];
  const reschedule = { ...(file['reschedule'] as object), onReturn };
  return { ...request, file: { ...file, reschedule } };
}
