import type { SeededRandom } from '../../src/core/random/random.ts';
import type { Fault } from '../nemesis/fault.ts';
import { numbered } from '../world/plan.ts';

const HOSTS = numbered('host', 3);
const MONITORS = numbered('monitor', 2);
const EVERY_MS = 300;

/** Monitors lose their hosts, for a moment or until the oldest bytes are given up; disks take nothing for a while, or are slow to give output. */
export function readFaults(random: SeededRandom, activeMs: number): readonly Fault[] {
  const faults: Fault[] = [];
  for (let atMs = 600; atMs < activeMs - 2_500; atMs += EVERY_MS) {
    const target = HOSTS[random.below(HOSTS.length)] ?? '';
    const other = MONITORS[random.below(MONITORS.length)] ?? '';
    const durationMs = 300 + random.below(2_000);
    const drawn = random.below(8);
    if (drawn <= 2) faults.push({ kind: 'break-connections', target, other, atMs, durationMs: 1 });
    else if (drawn === 3) faults.push({ kind: 'cut', target, other, atMs, durationMs });
    else if (drawn === 4) faults.push({ kind: 'kill', target: other, atMs, durationMs });
    else if (drawn >= 6)
      faults.push({ kind: 'output-slow', target, atMs, durationMs, amount: 300 + random.below(2_700) });
    else
      faults.push({
        kind: 'disk-fails',
        target,
        atMs,
        durationMs,
        code: random.below(2) === 0 ? 'full' : 'io',
      });
  }
  return faults;
}
