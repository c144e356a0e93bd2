import type { SeededRandom } from '../../src/core/random/random.ts';
import type { Fault } from '../nemesis/fault.ts';

/** See `sim/actor/event-follower.ts`. */
const FOLLOWER = 'client-2';
const MONITORS = ['monitor-1', 'monitor-2'];
const SCHEDULERS = ['batch-1', 'batch-2', 'service-1'];
const EVERY_MS = 400;

/**
 * The follower's streams break again and again, and its next monitor has just been cut off from the store, was killed, or sees
 * a scheduler lose its session.
 */
export function followedFaults(random: SeededRandom, activeMs: number): readonly Fault[] {
  const faults: Fault[] = [];
  for (let atMs = 800; atMs < activeMs - 1_600; atMs += EVERY_MS) {
    const monitor = MONITORS[random.below(MONITORS.length)] ?? '';
    const durationMs = 100 + random.below(1_500);
    const drawn = random.below(5);
    if (drawn <= 1)
      for (const other of MONITORS)
        faults.push({ kind: 'break-connections', target: FOLLOWER, other, atMs, durationMs: 1 });
    else if (drawn === 2) faults.push({ kind: 'cut', target: monitor, other: 'store', atMs, durationMs });
    else if (drawn === 3) faults.push({ kind: 'kill', target: monitor, atMs, durationMs });
    else {
      const target = SCHEDULERS[random.below(SCHEDULERS.length)] ?? '';
      faults.push({ kind: 'lease-lost', target, atMs, durationMs: 1 });
    }
  }
  return faults;
}
