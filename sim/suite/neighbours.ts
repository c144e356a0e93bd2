import type { SeededRandom } from '../../src/core/random/random.ts';
import type { Request } from '../actor/client.ts';

interface Says {
  readonly class?: string;
  readonly avoid?: readonly string[];
}

/**
 * Three jobs of four are of a class or avoid one: those that are harmed, those that harm them, whichever of the two says so, and those
 * that want no other of their kind. Every third job would rather be near a class, maybe its own.
 */
export function neighbourly(request: Request, random: SeededRandom): Request {
  const own = random.split(`neighbours ${request.name}`);
  const says: Says | undefined = [
    ...[{ class: 'latency', avoid: ['noisy'] }, { class: 'latency' }, { class: 'noisy' }],
    ...[{ class: 'noisy', avoid: ['latency'] }, { avoid: ['latency'] }, { avoid: ['noisy'] }],
  ][own.below(8)];
  const alone = own.below(6) === 0 ? { class: 'alone', avoid: ['alone', 'noisy'] } : says;
  const said: Says = says === undefined ? {} : (alone ?? {});
  const near = nearOf(said, random.split(`near ${request.name}`));
  return { ...request, file: { ...request.file, ...said, ...near } };
}

/** Of what is avoided on a host only the rack may be near: a file that contradicts itself is refused. */
function nearOf({ avoid = [] }: Says, random: SeededRandom): { readonly near?: readonly unknown[] } {
  const name = ['latency', 'noisy', 'alone'][random.below(9)];
  if (name === undefined) return {};
  const isFar = avoid.includes(name) || random.below(3) === 0;
  return { near: isFar ? [{ class: name, over: 'host.rack' }] : [name] };
}
