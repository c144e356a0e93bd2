import type { IoSite } from './io-sites.ts';
import { IO_ROUTES, IO_SITES } from './io-sites.ts';
import type { FailRole } from './faults.ts';
import { FAIL_ROLES } from './faults.ts';
import { subjectOfRoute } from './subjects.ts';

let known: ReadonlySet<string> | null = null;

/** Every fail-point, sorted. Made on first use: most runs never need it. */
export function failPoints(): readonly string[] {
  return [...(known ??= new Set(allNames()))];
}

export function isFailPoint(name: string): boolean {
  return (known ??= new Set(allNames())).has(name);
}

const SERVES = ['server.listen/all', 'server.close/all', 'store.close/cell'] as const;

const MAINS: Readonly<Record<FailRole, readonly string[]>> = {
  scheduler: [...SERVES, 'http.close/all'],
  agent: [...SERVES, 'processes.close/all'],
  monitor: [...SERVES, 'http.close/all'],
  arbiter: [...SERVES, 'http.close/all'],
};

function allNames(): readonly string[] {
  const names = new Set<string>();
  for (const site of IO_SITES) for (const name of namesOf(site)) names.add(name);
  for (const { role, method, path, streams } of IO_ROUTES) {
    const subject = subjectOfRoute(method, path);
    names.add(`${role}/server.route/${subject}`);
    if (streams === true) names.add(`${role}/server.chunk/${subject}`);
  }
  for (const role of FAIL_ROLES) for (const io of MAINS[role]) names.add(`${role}/${io}`);
  return [...names].sort().flatMap((name) => [`${name}:before`, `${name}:after`]);
}

/** A stream also has a point for its pieces. */
function namesOf(site: IoSite): readonly string[] {
  return Object.entries(site.subjects).flatMap(([role, subjects]) =>
    subjects.flatMap((subject) => {
      const name = `${role}/${site.io}/${subject}`;
      return site.io === 'http.stream' ? [name, `${role}/http.chunk/${subject}`] : [name];
    }),
  );
}
