import type { SeededRandom } from '../../src/core/random/random.ts';
import { numbered } from '../world/plan.ts';
import type { Scenario } from '../world/scenario.ts';
import type { Request, HostAction } from '../actor/client.ts';

/**
 * An operator closes one host after the other while work is placed, with or without a deadline, and opens most of them again. All but one
 * are open before the quiet period; in every second run the one that is kept has no deadline.
 */
export function drawnHostActions({ hosts, activeMs }: Scenario, random: SeededRandom): readonly HostAction[] {
  const names = numbered('host', hosts);
  const actions: HostAction[] = [];
  for (let atMs = 600 + random.below(800); atMs < activeMs * 0.8; atMs += 700 + random.below(1_200)) {
    const host = names[random.below(names.length)] ?? '';
    const drawn = random.below(5);
    if (drawn <= 1) actions.push({ atMs, host, state: 'draining', deadlineMs: 500 + random.below(4_000) });
    else if (drawn === 2) actions.push({ atMs, host, state: 'draining' });
    else actions.push({ atMs, host, state: 'cordoned' });
    if (random.below(3) > 0) actions.push({ atMs: atMs + 300 + random.below(1_500), host, state: 'ready' });
  }
  const kept = names[random.below(names.length)];
  const deadline = random.split('kept').below(2) === 0 ? {} : { deadlineMs: 3_000 };
  for (const host of names)
    actions.push({
      atMs: activeMs * 0.9,
      ...(host === kept ? { host, state: 'draining', ...deadline } : { host, state: 'ready' }),
    });
  return actions.sort((a, b) => a.atMs - b.atMs);
}

/** When the same operator has something moved, in every second run. */
export function drawnMoves({ activeMs }: Scenario, random: SeededRandom): readonly number[] {
  if (random.below(2) === 0) return [];
  const times: number[] = [];
  for (let atMs = 1_500 + random.below(1_500); atMs < activeMs; atMs += 1_000 + random.below(2_000))
    times.push(atMs);
  return times;
}

/**
 * Work that is still there when its host is closed: most services run until they are stopped, most jobs for 6 s. Some is moved
 * by no drain.
 */
export function lasting(request: Request, random: SeededRandom): Request {
  if (random.split(`lasts ${request.name}`).below(3) === 0) return request;
  const env = {
    ...(request.file['env'] as object),
    SIM_RUN_MS: request.file['type'] === 'service' ? '0' : '6000',
  };
  const { reschedule } = request.file as { readonly reschedule?: object };
  const stays = random.split(`stays ${request.name}`).below(3) === 0;
  const policy = stays ? { reschedule: { ...reschedule, onDrain: false } } : {};
  return { ...request, stopAfterMs: null, file: { ...request.file, env, ...policy } };
}
