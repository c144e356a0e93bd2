import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { format } from 'prettier';
import type { IoRoute, IoSite } from '../../src/runtime/faults/io-sites.ts';
import { IO_ROUTES, IO_SITES } from '../../src/runtime/faults/io-sites.ts';
import { failPoints } from '../../src/runtime/faults/names.ts';
import { PROJECT_ROOT } from './cli.ts';
import { NO_IO, type FoundSite, type Scan } from './io-scan.ts';

export const LIST = join(PROJECT_ROOT, 'src', 'runtime', 'faults', 'io-sites.ts');
export const DOCUMENT = join(PROJECT_ROOT, 'docs', 'fail-points.md');

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
export async function listText({ sites, routes }: Lists): Promise<string> {
  const head = readFileSync(LIST, 'utf8').split('export const IO_SITES')[0] ?? '';
  const text = `${head}export const IO_SITES: readonly IoSite[] = ${JSON.stringify(sites)};

/** Every route of every role. \`streams\`: it may answer with one. */
export const IO_ROUTES: readonly IoRoute[] = ${JSON.stringify(routes)};
`;
  return format(text, { parser: 'typescript', ...PRETTIER });
}

const PRETTIER = { printWidth: 110, singleQuote: true, trailingComma: 'all' } as const;

export function readList(): string {
  return readFileSync(LIST, 'utf8');
}

/** The list for people: a name per line, by role. */
export function documentText(): string {
  const names = failPoints().filter((name) => name.endsWith(':before'));
  const plain = names.map((name) => name.slice(0, -':before'.length));
  const roles = [...new Set(plain.map((name) => name.split('/')[0] ?? ''))];
  const parts = roles.map((role) => {
    const own = plain.filter((name) => name.startsWith(`${role}/`));
    return `## ${role}: ${String(own.length)}\n\n\`\`\`\n${own.join('\n')}\n\`\`\`\n`;
  });
  return `# Fail-points

Every I/O of every role. Each name stands for two points, \`<name>:before\` and \`<name>:after\`; how to use them is in
[fault-injection.md](fault-injection.md). \`npm run fail-points\` writes this list from the sources.

${parts.join('\n')}`;
}

export function readDocument(): string {
  return readFileSync(DOCUMENT, 'utf8');
}
