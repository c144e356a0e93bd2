import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');

const ROOMS = [
  'src/core',
  'src/ports',
  'src/wire',
  'src/runtime',
  'src/clients',
  'src/adapters',
  'schedulers',
  'host-agent',
  'monitor',
  'arbiter',
  'cli',
  'sim',
  'bench',
] as const;
type Room = (typeof ROOMS)[number];

const ROLE_SEES: readonly Room[] = ['src/core', 'src/ports', 'src/wire', 'src/runtime', 'src/clients'];

/** What each room may import besides itself. `*` stands for packages and Node's own modules. */
const MAY_IMPORT: Record<Room, readonly (Room | '*')[]> = {
  'src/core': [],
  'src/ports': ['src/core'],
  'src/wire': ['src/core', '*'],
  'src/runtime': ['src/core', 'src/ports', 'src/wire'],
  'src/clients': ['src/core', 'src/ports', 'src/wire', 'src/runtime'],
  'src/adapters': ['src/core', 'src/ports', 'src/wire', '*'],
  schedulers: ROLE_SEES,
  'host-agent': ROLE_SEES,
  monitor: ROLE_SEES,
  arbiter: ROLE_SEES,
  cli: [...ROOMS, '*'],
  bench: [...ROOMS, '*'],
  sim: [...ROLE_SEES, 'schedulers', 'host-agent', 'monitor', 'arbiter'],
};

/**
 * The places where roles meet adapters: a main joins its own role to the world. The shim is a program of its own, the
 * stand-in for the native one: Node's own modules are all it has.
 */
const MAIN = /(^|\/)(hollow-)?main\.ts$|^host-agent\/shim\/|^sim\/seeds\//;

/** Adapters without any effect on the world: the simulator may use them as they are. */
const TOUCHES_NOTHING =
  /^src\/adapters\/(memory\/|store-limits|store-witness|system\/digest|telemetry\/silent|http\/problem-reply)/;

/** Of `src/wire`, only these packages; everything else that speaks to the world is an adapter. */
const WIRE_PACKAGES = new Set(['zod', 'yaml']);

interface Import {
  readonly from: string;
  readonly to: string;
}

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8');
  const found = text.matchAll(
    /(?:^|\n)\s*(?:import|export)\b[^'";]*?from\s+'([^']+)'|import\(\s*'([^']+)'\s*\)/g,
  );
  return [...found].map((match) => {
    const target = match[1] ?? match[2] ?? '';
    return {
      from: file,
      to: target.startsWith('.') ? relative(root, resolve(root, dirname(file), target)) : target,
    };
  });
}

function roomOf(path: string): Room | '*' {
  return ROOMS.find((room) => path.startsWith(`${room}/`)) ?? '*';
}

function isAllowed({ from, to }: Import): boolean {
  const here = roomOf(from) as Room;
  const there = roomOf(to);
  if (here === there) return true;
  if (MAIN.test(from) && !from.startsWith('src/')) return there === '*' || there.startsWith('src/');
  if (here === 'src/wire' && there === '*') return WIRE_PACKAGES.has(to);
  if (here === 'sim' && TOUCHES_NOTHING.test(to)) return true;
  return MAY_IMPORT[here].includes(there);
}

const files = ROOMS.flatMap(sources);

describe('the house is in order', () => {
  it('looks at a whole project, not at nothing', () => {
    expect(files.length).toBeGreaterThan(100);
    expect(files.flatMap(importsOf).length).toBeGreaterThan(400);
  });

  it('imports only go down: core ← ports ← runtime, wire, clients; roles never import each other', () => {
    const wrong = files
      .flatMap(importsOf)
      .filter((one) => !isAllowed(one))
      .map((one) => `${one.from} imports ${one.to}`);
    expect(wrong).toEqual([]);
  });

  it('every source file is used by another, or is where a program starts', () => {
    const used = new Set(files.flatMap(importsOf).map((one) => one.to));
    const starts = /(^|\/)(main|hollow-main|index|worker)\.ts$|^bench\/[^/]+\.ts$|^host-agent\/shim\//;
    const tests = readdirSync(join(root, 'test'), { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)));
    const usedByTests = new Set(tests.flatMap(importsOf).map((one) => one.to));
    const dead = files.filter((file) => !used.has(file) && !starts.test(file) && !usedByTests.has(file));
    expect(dead).toEqual([]);
  });

  it('leaves no unfinished mark in the sources', () => {
    const marks = new RegExp(
      ['TO' + 'DO', 'FIX' + 'ME', 'X' + 'XX', '@ts-' + 'ignore', '@ts-' + 'nocheck'].join('|'),
    );
    const marked = files.filter((file) => marks.test(readFileSync(join(root, file), 'utf8')));
    expect(marked).toEqual([]);
  });

  it('S1.8 allocation records are deleted by the commit alone; every other place that deletes is known', () => {
    const deleting = files
      .filter((file) => !file.startsWith('src/adapters/') && !file.startsWith('src/ports/'))
      .filter((file) => readFileSync(join(root, file), 'utf8').includes("kind: 'delete'"));
    expect(deleting.sort()).toEqual([
      'monitor/quotas.ts', // what namespaces may use no longer
      'monitor/reaper.ts', // jobs, runs and outcomes past retention
      'monitor/shared-resources.ts', // what hosts share no longer
      'schedulers/ownership.ts', // owner keys
      'schedulers/releaser.ts', // surplus outcomes
      'sim/store/server.ts', // what a restored store does not hold
      'src/runtime/commit-attempt.ts', // allocations
      'src/runtime/gang-intent.ts', // intents
    ]);
  });
});
