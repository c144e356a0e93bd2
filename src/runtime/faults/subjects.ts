import type { Attempt } from '../../ports/cell-store.ts';
import { IO_ROUTES } from './io-sites.ts';

/** The keys that an I/O touches, for its name: `allocs+ledger`. */
export function subjectOfKeys(keys: Iterable<string>): string {
  const families = new Set<string>();
  for (const key of keys) families.add(familyOf(key));
  return [...families].sort().join('+');
}

/** The keys that it writes; for an attempt that only compares, those that it compares. */
export function subjectOfAttempt({ writes, compares }: Attempt): string {
  const touched = writes.length > 0 ? writes : compares;
  return subjectOfKeys(touched.map(({ key }) => key));
}

/** `/moorage/<cell>/<family>/...`; for limits the folder within. */
function familyOf(key: string): string {
  const [, , , family = '', room = ''] = key.split('/');
  if (family === 'limits' && room !== '') return room;
  return family === '' ? 'cell' : family;
}

const ATTEMPT_KINDS: Readonly<Record<string, string>> = { 'spec.json': 'attempt-spec' };
const ALLOCATION_KINDS: Readonly<Record<string, string>> = {
  'spec.json': 'allocation-spec',
  'outcome.json': 'outcome',
  'verdict.json': 'verdict',
};

/** What kind of file of the state folder the path is: `journal`, `claim`, `output`. */
export function subjectOfPath(path: string): string {
  const [room = '', id, file] = path.split('/');
  if (id === undefined && room.startsWith('.tmp-')) return 'temporary';
  if (id === undefined) return room === '' ? 'all' : room;
  if (room === 'locks') return 'lock';
  if (room === 'allocations') return file === undefined ? 'allocation' : (ALLOCATION_KINDS[file] ?? file);
  if (room !== 'attempts') return room;
  if (file === undefined) return 'attempt';
  return /^(out|err)\./.test(file) ? 'output' : (ATTEMPT_KINDS[file] ?? file);
}

/** `POST /v1/allocations/:id/stop` → `post.allocations.id.stop`. */
export function subjectOfRoute(method: string, path: string): string {
  const words = path
    .replace(/^\/hosts\/:host\//, '/')
    .split('/')
    .filter((word) => word !== '' && word !== 'v1');
  return [method.toLowerCase(), ...words.map((word) => word.replace(':', ''))].join('.');
}

/** The route that a call goes to. A fixed part of a route's path wins over a parameter, as it does in the servers. */
export function subjectOfCall(method: string, url: string): string {
  // What stands before `/v1/` is the peer's address.
  const words = (url.slice(Math.max(0, url.indexOf('/v1/'))).split('?')[0] ?? '').split('/');
  const fits = IO_ROUTES.filter((route) => route.method === method && matches(route.path.split('/'), words));
  const best = fits.sort((a, b) => parameters(a.path) - parameters(b.path))[0];
  return best === undefined ? `${method.toLowerCase()}.unknown` : subjectOfRoute(method, best.path);
}

function matches(pattern: readonly string[], words: readonly string[]): boolean {
  return (
    pattern.length === words.length && pattern.every((word, at) => word.startsWith(':') || word === words[at])
  );
}

function parameters(path: string): number {
  return path.split(':').length;
}
