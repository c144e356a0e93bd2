import type { SeededRandom } from '../../src/core/random/random.ts';
import type { Request } from '../actor/client.ts';

/**
 * Three jobs of four are of a class or avoid one: those that are harmed, those that harm them, whichever of the two says so, and those
 * that want no other of their kind.
 */
export function neighbourly(request: Request, random: SeededRandom): Request {
  const own = random.split(`neighbours ${request.name}`);
  const says = [
    ...[{ class: 'latency', avoid: ['noisy'] }, { class: 'latency' }, { class: 'noisy' }],
    ...[{ class: 'noisy', avoid: ['latency'] }, { avoid: ['latency'] }, { avoid: ['noisy'] }],
  ][own.below(8)];
  if (says === undefined) return request;
  const alone = own.below(6) === 0 ? { class: 'alone', avoid: ['alone', 'noisy'] } : says;
  return { ...request, file: { ...request.file, ...alone } };
}
