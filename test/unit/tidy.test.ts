import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROJECT_ROOT } from '../support/cli.ts';
import {
  circlesOf,
  headCommentOf,
  importsBetweenSiblings,
  importsOf,
  readSources,
  roomsOf,
  type Import,
  type Room,
} from '../support/house.ts';

const AREAS = [
  'src/core',
  'src/ports',
  'src/wire',
  'src/runtime',
  'src/clients',
  'src/adapters',
  'src/connect',
  'schedulers',
  'host-agent',
  'monitor',
  'arbiter',
  'cli',
  'page',
  'sim',
  'bench',
] as const;
type Area = (typeof AREAS)[number];

const ROLE_SEES: readonly Area[] = ['src/core', 'src/ports', 'src/wire', 'src/runtime', 'src/clients'];

/** What each area may import besides itself. `*` stands for packages and Node's own modules. */
const MAY_IMPORT: Record<Area, readonly (Area | '*')[]> = {
  'src/core': [],
  'src/ports': ['src/core'],
  'src/wire': ['src/core', '*'],
  'src/runtime': ['src/core', 'src/ports', 'src/wire'],
  'src/clients': ['src/core', 'src/ports', 'src/wire', 'src/runtime'],
  'src/adapters': ['src/core', 'src/ports', 'src/wire', '*'],
  'src/connect': ['src/core', 'src/ports', 'src/wire', 'src/clients', 'src/adapters', '*'],
  schedulers: ROLE_SEES,
  'host-agent': ROLE_SEES,
  monitor: ROLE_SEES,
  arbiter: ROLE_SEES,
  cli: [...AREAS, '*'],
  page: ['src/core', 'src/ports', 'src/wire', 'src/clients'],
  bench: [...AREAS, '*'],
  sim: [...ROLE_SEES, 'schedulers', 'host-agent', 'monitor', 'arbiter'],
};

/**
 * The places where roles meet adapters: a main joins its own role to the world. The shim is a program of its own, the
 * stand-in for the native one: Node's own modules are all it has.
 */
const MAIN = /(^|\/)(hollow-)?main\.ts$|^schedulers\/index\.ts$|^host-agent\/shim\/|^sim\/seeds\//;

/** Adapters without any effect on the world: the simulator may use them as they are. */
const TOUCHES_NOTHING =
  /^src\/adapters\/(memory\/|store\/|system\/digest|telemetry\/silent|http\/(problem-reply|route-match))/;

/** Of `src/wire`, only these packages; everything else that speaks to the world is an adapter. */
const WIRE_PACKAGES = new Set(['zod', 'yaml']);
/** The page runs in a browser. */
const PAGE_PACKAGES = new Set(['preact', 'preact/hooks', '@xterm/xterm', '@xterm/addon-fit']);

/** Folders whose head has a name of its own: the class that a role is, a list of verbs, or the place where a program begins. */
const HEADS: Readonly<Record<string, string>> = {
  schedulers: 'scheduler.ts',
  'host-agent': 'agent.ts',
  'host-agent/shim': 'main.ts',
  cli: 'program.ts',
  page: 'page.tsx',
  'page/views': 'views.tsx',
};

/** A room with more files than this has a second subject. */
const ROOM_FILES_MAX = 20;

function areaOf(path: string): Area | '*' {
  return AREAS.find((area) => path.startsWith(`${area}/`)) ?? '*';
}

function isAllowed({ from, to }: Import): boolean {
  const here = areaOf(from) as Area;
  const there = areaOf(to);
  if (here === there) return true;
  if (MAIN.test(from) && !from.startsWith('src/')) return there === '*' || there.startsWith('src/');
  if (here === 'src/wire' && there === '*') return WIRE_PACKAGES.has(to);
  if (here === 'page' && there === '*') return PAGE_PACKAGES.has(to);
  if (here === 'sim' && TOUCHES_NOTHING.test(to)) return true;
  return MAY_IMPORT[here].includes(there);
}

/** @returns a line for each import that goes up or sideways */
function wrongAmong(imports: readonly Import[]): string[] {
  return imports.filter((one) => !isAllowed(one)).map(({ from, to }) => `${from} imports ${to}`);
}

/** Holds folders and nothing else. */
function isPlainFolder({ head, others }: Room): boolean {
  return !sources.has(head) && others.every((name) => !name.endsWith('.ts'));
}

const sources = readSources(AREAS);
const imports = importsOf(sources);

describe('the house is in order', () => {
  it('looks at a whole project, not at nothing', () => {
    expect(sources.size).toBeGreaterThan(500);
    expect(imports.length).toBeGreaterThan(2_000);
  });

  it('imports only go down: core ← ports ← runtime, wire, clients; roles never import each other', () => {
    expect(wrongAmong(imports)).toEqual([]);
  });

  it('finds a planted import that goes up, and names its file', () => {
    const planted = importsOf(
      new Map([
        ['src/core/model/job.ts', "import type { Clock } from '../../ports/clock.ts';"],
        ['schedulers/scheduler.ts', "export * from '../monitor/monitor.ts';"],
        [
          'monitor/monitor.ts',
          "import { x } from '../src/adapters/etcd/client.ts';\nimport pino from 'pino';",
        ],
        ['src/runtime/wait/wait.ts', "import type { Clock } from '../ports/clock.ts';"],
      ]),
    );
    expect(wrongAmong(planted)).toEqual([
      'src/core/model/job.ts imports src/ports/clock.ts',
      'schedulers/scheduler.ts imports monitor/monitor.ts',
      'monitor/monitor.ts imports src/adapters/etcd/client.ts',
      'monitor/monitor.ts imports pino',
    ]);
  });

  it('no file reaches itself through its imports, types included', () => {
    expect(circlesOf(imports)).toEqual([]);
  });

  it('no folder reaches itself through its neighbours', () => {
    expect(circlesOf(importsBetweenSiblings(imports))).toEqual([]);
  });

  it('finds planted circles, of types, of re-exports and of folders', () => {
    const planted = importsOf(
      new Map([
        ['a/x.ts', "import type { Y } from './y.ts';"],
        ['a/y.ts', "export { z } from './z.ts';"],
        ['a/z.ts', "const x = import('./x.ts');"],
        ['a/self.ts', "import './self.ts';"],
        ['b/one/p.ts', "import { q } from '../two/q.ts';"],
        ['b/two/r.ts', "import { s } from '../one/s.ts';"],
      ]),
    );
    expect(circlesOf(planted)).toEqual([['a/x.ts', 'a/y.ts', 'a/z.ts'], ['a/self.ts']]);
    expect(circlesOf(importsBetweenSiblings(planted))).toEqual([['b/one', 'b/two']]);
  });

  it('the head of each room begins on its first line, and tells of every file and folder beside it', () => {
    const rooms = roomsOf(sources, HEADS).filter((room) => !isPlainFolder(room));
    expect(rooms.length).toBeGreaterThan(80);
    const untold = rooms.flatMap(({ head, others }) => {
      const comment = headCommentOf(sources.get(head) ?? '');
      if (comment === '') return [`${head} does not begin with a comment`];
      return others
        .filter((name) => !comment.includes(name))
        .map((name) => `${head} does not tell of ${name}`);
    });
    expect(untold).toEqual([]);
  });

  it('a folder without files has no head: docs/architecture.md names what is in it', () => {
    const map = readFileSync(join(PROJECT_ROOT, 'docs/architecture.md'), 'utf8');
    const inside = roomsOf(sources, HEADS)
      .filter(isPlainFolder)
      .flatMap(({ folder, others }) => others.map((name) => (folder === 'src' ? `src/${name}` : name)));
    expect(inside.length).toBeGreaterThan(10);
    expect(inside.filter((name) => !map.includes(`\`${name}\``))).toEqual([]);
  });

  it('no room holds more files than a reader can keep in mind', () => {
    const full = roomsOf(sources, HEADS)
      .filter(({ others }) => others.filter((name) => name.endsWith('.ts')).length >= ROOM_FILES_MAX)
      .map(({ folder }) => folder);
    expect(full).toEqual([]);
  });

  it('every source file is used by another, or is where a program starts', () => {
    const used = new Set([...imports, ...importsOf(readSources(['test']))].map(({ to }) => to));
    const starts = /(^|\/)(main|hollow-main|index|worker)\.tsx?$|^bench\/|^host-agent\/shim\//;
    expect([...sources.keys()].filter((file) => !used.has(file) && !starts.test(file))).toEqual([]);
  });

  it('every id of a requirement or an invariant that sources or tests name has its line in docs', () => {
    const stated = ['requirements', 'invariants']
      .map((name) => readFileSync(join(PROJECT_ROOT, `docs/${name}.md`), 'utf8'))
      .flatMap((text) => [...text.matchAll(/^- ([SI][\d.]+): /gm)].map(([, id]) => id));
    expect(stated.length).toBeGreaterThan(150);
    const named = [...sources, ...readSources(['test'])].flatMap(([file, text]) =>
      [...text.matchAll(/\b(?:S[0-4]\.\d+|I\d{1,2})\b/g)].map(([id]) => ({ id, file })),
    );
    const unstated = new Map(
      named.filter(({ id }) => !stated.includes(id)).map(({ id, file }) => [id, file]),
    );
    expect([...unstated].map(([id, file]) => `${id} of ${file} is in no document`)).toEqual([]);
  });

  it('leaves no unfinished mark in the sources', () => {
    const marks = new RegExp(
      ['TO' + 'DO', 'FIX' + 'ME', 'X' + 'XX', '@ts-' + 'ignore', '@ts-' + 'nocheck'].join('|'),
    );
    expect([...sources].filter(([, text]) => marks.test(text)).map(([file]) => file)).toEqual([]);
  });

  it('S1.8 allocation records are deleted by the commit alone; every other place that deletes is known', () => {
    const deleting = [...sources]
      .filter(([file]) => !file.startsWith('src/adapters/') && !file.startsWith('src/ports/'))
      .filter(([, text]) => text.includes("kind: 'delete'"))
      .map(([file]) => file);
    expect(deleting.sort()).toEqual([
      'arbiter/grant-records.ts', // what is granted no longer
      'monitor/audit/audit.ts', // records of the audit past their bounds
      'monitor/detector/verdicts.ts', // verdicts that ended a day ago
      'monitor/hosts/removed-hosts.ts', // hosts that an operator removed
      'monitor/limits/pauses.ts', // pauses that ended a day ago
      'monitor/limits/quotas.ts', // what namespaces may use no longer
      'monitor/limits/shared-resources.ts', // what hosts share no longer
      'monitor/limits/volumes.ts', // claims whose data is deleted
      'monitor/reaper/full-buckets.ts', // an absent bucket is a full one
      'monitor/reaper/retention.ts', // jobs, versions, runs and outcomes past retention
      'monitor/tokens/invitations.ts', // a day after their end
      'monitor/tokens/openid-providers.ts', // whose tokens count no more
      'monitor/tokens/secrets.ts', // secrets of jobs
      'monitor/tokens/tokens.ts', // tokens that are revoked, or have ended
      'schedulers/commit/releaser.ts', // surplus outcomes
      'schedulers/ownership/ownership.ts', // owner keys
      'sim/store/server.ts', // what a restored store does not hold
      'src/runtime/commit/attempt.ts', // allocations
      'src/runtime/commit/gang-intent.ts', // intents
    ]);
  });
});
