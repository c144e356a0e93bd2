import type { SeededRandom } from '../../src/core/random/random.ts';
import type { Request } from '../actor/client.ts';

/**
 * Two jobs of three have `distinct` or `spread`: one allocation a host, one a rack (of which there are two), or spread over racks, evenly
 * or by weights.
 */
export function apart(request: Request, random: SeededRandom): Request {
  const own = random.split(`apart ${request.name}`);
  const preference = [
    ...[{ distinct: ['host'] }, { distinct: ['host'] }, { distinct: ['host.rack'] }],
    ...[{ spread: [{ by: 'host.rack', weight: 100 }] }],
    ...[{ spread: [{ by: 'host.rack', weight: 100, targets: { r0: 25, r1: 75 } }] }],
    { distinct: ['host'], spread: [{ by: 'host.rack' }] },
  ][own.below(9)];
  return preference === undefined ? request : { ...request, file: { ...request.file, ...preference } };
}
