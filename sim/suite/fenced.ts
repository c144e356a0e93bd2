import type { SeededRandom } from '../../src/core/random/random.ts';
import { FENCE } from '../actor/power-fences.ts';
import type { Request } from '../actor/client.ts';

/**
 * Three of four jobs that ask to be replaced want a fence; some of these are ended by their host too, before or after that.
 * @param maySelf the host that is lost can do that
 */
export function fenced(request: Request, maySelf: boolean, random: SeededRandom): Request {
  const { reschedule } = request.file as { readonly reschedule?: { readonly onHostLost?: boolean } };
  const own = random.split(`fenced ${request.name}`);
  if (reschedule?.onHostLost !== true || own.below(4) === 0) return request;
  const { onReturn: _kept, ...moves } = { onReturn: '', ...reschedule };
  const disconnect = [
    { fence: FENCE },
    { fence: [FENCE] },
    { fence: [FENCE, 'self'], stopAfter: '40s' },
    { fence: 'self', stopAfter: '20s' },
  ][own.below(maySelf ? 4 : 2)];
  return { ...request, file: { ...request.file, reschedule: moves, disconnect } };
}
