import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { IoRoute, IoSite } from '../../src/runtime/faults/io-sites.ts';
import { IO_ROUTES, IO_SITES } from '../../src/runtime/faults/io-sites.ts';
import { PROJECT_ROOT } from './cli.ts';
import { NO_IO, type FoundSite, type Scan } from './io-scan.ts';

export const LIST = join(PROJECT_ROOT, 'src', 'runtime', 'faults', 'io-sites.ts');

export interface Lists {
  readonly sites: readonly IoSite[];
  readonly routes: readonly IoRoute[];
  /** Sites that have no subjects yet, for some role that does them. */
  readonly nameless: readonly string[];
}

/** What the list should be: the sites found, with the subjects that the list had for them. */
export function listsOf(scan: Scan): Lists {
  const old = oldSubjects();
  const nameless: string[] = [];
  const sites = scan.sites
    .filter(({ io }) => !NO_IO.has(io))
    .map((found): IoSite => {
      const subjects: Record<string, readonly string[]> = {};
      for (const role of found.roles) {
        const named = old.get(`${found.at} ${found.io} ${role}`) ?? ONE_SUBJECT[found.io];
        if (named === undefined) nameless.push(`${found.at}: ${role}/${found.io}`);
        else subjects[role] = [...named].sort();
      }
      return { at: found.at, io: found.io, ...callsOf(found), subjects };
    });
  const streams = new Set(IO_ROUTES.filter((route) => route.streams === true).map(keyOf));
  const routes = scan.routes.map((route) =>
    streams.has(keyOf(route)) ? { ...route, streams: true } : route,
  );
  return { sites, routes, nameless };
}

function oldSubjects(): ReadonlyMap<string, readonly string[]> {
  const old = new Map<string, readonly string[]>();
  for (const { at, io, subjects } of IO_SITES)
    for (const [role, named] of Object.entries(subjects)) {
      const key = `${at} ${io} ${role}`;
      old.set(key, [...new Set([...(old.get(key) ?? []), ...named])]);
    }
  return old;
}

function callsOf({ calls }: FoundSite): { calls?: number } {
  return calls === 1 ? {} : { calls };
}

function keyOf({ role, method, path }: IoRoute): string {
  return `${role} ${method} ${path}`;
}

/** Methods that are always about the same thing. */
const ONE_SUBJECT: Readonly<Record<string, readonly string[]>> = {
  'store.openSession': ['session'],
  'store.closeSession': ['session'],
  'server.listen': ['all'],
  'server.close': ['all'],
  'signer.sign': ['ticket'],
  'verifier.verify': ['ticket'],
  'cgroups.mounts': ['all'],
  'cgroups.make': ['group'],
  'cgroups.remove': ['group'],
  'cgroups.list': ['group'],
  'cgroups.killListed': ['group'],
  'cgroups.read': ['file'],
  'cgroups.write': ['file'],
  'cgroups.deviceOf': ['folder'],
  'link.state': ['shim'],
  'link.writeStdin': ['shim'],
  'link.endStdin': ['shim'],
  'link.signal': ['shim'],
  'link.resize': ['shim'],
  'link.freeze': ['shim'],
  'link.renew': ['shim'],
  'link.extend': ['shim'],
  'link.stop': ['shim'],
  'link.kill': ['shim'],
  'commands.run': ['program'],
  'artifacts.fetch': ['artifact'],
  'processes.isAlive': ['process'],
  'processes.portsInUse': ['ports'],
  'processes.addressesInUse': ['addresses'],
  'processes.startShim': ['attempt'],
  'processes.signal': ['attempt'],
  'processes.answers': ['attempt'],
  'processes.killTree': ['attempt'],
  'processes.killLeftovers': ['attempt'],
  'processes.onEvent': ['attempt'],
};

/** The list as a source file. */
export function listText({ sites, routes }: Lists): string {
  const [head = ''] = readList().split('linesOf(`\n');
  const sitesText = sites.map(({ at, io, calls, subjects }) =>
    [
      at,
      calls === undefined ? io : `${io}*${String(calls)}`,
      ...Object.entries(subjects).map(([role, named]) => `${role}:${named.join(',')}`),
    ].join(' '),
  );
  const routesText = routes.map(({ role, method, path, streams }) =>
    [role, method, path, ...(streams === true ? ['streams'] : [])].join(' '),
  );
  return `${head}linesOf(\`
${sitesText.join('\n')}
\`).map(siteOf);

/** Every route of every role. \`streams\`: it may answer with one. */
export const IO_ROUTES: readonly IoRoute[] = linesOf(\`
${routesText.join('\n')}
\`).map(routeOf);
`;
}

export function readList(): string {
  return readFileSync(LIST, 'utf8');
}
